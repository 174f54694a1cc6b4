/** Sub-calls of a request that loses its slot (docs/rules/admission.md#leases-of-isolates): none is made, and none continues. */
import { expect, it } from "vitest";
import { GatewayError } from "../../shared/errors.ts";
import { modelOf } from "../../test/harness/edge/pipeline/records.ts";
import { TestPermit, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { authenticate } from "./authenticate/authenticate.ts";
import { NOTHING_KNOWN } from "./call/known.ts";
import { prepare } from "./prepare/prepare.ts";
import { parseCall } from "./resolve-model/parse-call.ts";
import { resolveModel } from "./resolve-model/resolve-model.ts";
import { type SubCall, subCall, unbilledCall } from "./sub-call.ts";

const ASKED: SubCall = {
  requestType: "tool_loop",
  model: modelOf({ model_name: "helper" }),
  body: { messages: [{ role: "user", content: "describe" }] },
  timeoutMs: 1_500,
};

/** A request that holds a slot; `lose`: another request may hold it now. `permit`: the permit of its sub-calls. */
async function held() {
  const world = new TestPipeline();
  const permit = new TestPermit();
  const seen = { admitted: 0 };
  world.subCallPermit = async () => {
    seen.admitted += 1;
    return permit;
  };
  const call = world.call();
  const caller = await authenticate(call, NOTHING_KNOWN);
  const request = await prepare(call, await resolveModel(call, await parseCall(call, caller)));
  return {
    world,
    seen,
    lose: () => call.interruption.interrupt(new GatewayError("scheduler_unavailable")),
    permit,
    call,
    request,
  };
}

it.each([
  ["a billed call", subCall],
  ["one that is not billed", unbilledCall],
])("is not made after the slot was lost: %s", async (_, make) => {
  const { world, seen, lose, call, request } = await held();
  lose();
  await expect(make(call, request, ASKED)).rejects.toMatchObject({ code: "scheduler_unavailable" });
  await world.settled();
  expect({
    upstreamCalls: world.upstreamCalls,
    admitted: seen.admitted,
    recorded: world.recorded,
    orphans: world.orphans,
  }).toEqual({ upstreamCalls: [], admitted: 0, recorded: [], orphans: [] });
});

it("is ended upstream when the slot is lost while it runs, and has its row", async () => {
  const { world, lose, permit, call, request } = await held();
  world.upstream = async ({ signal }) =>
    await new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      lose();
    });
  await expect(subCall(call, request, ASKED)).rejects.toMatchObject({ code: "scheduler_unavailable" });
  await world.settled();
  expect({ upstreamCallCount: world.upstreamCalls.length, row: permit.settlement?.row }).toMatchObject({
    upstreamCallCount: 1,
    row: { status_code: 503, admission: "boon" },
  });
});
