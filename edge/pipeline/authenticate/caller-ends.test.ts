/**
 * Ends and lists of keys at every use (docs/rules/keys.md#expiry, docs/rules/keys.md#rotation,
 * docs/rules/keys.md#allowed-models). Waiting requests are in admit/checked-again.test.ts.
 */
import { describe, expect, it } from "vitest";
import type { ResolvedKey } from "../../../shared/records.ts";
import { GUARD_POLICY } from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import { keyOf, modelOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { run } from "../run.ts";
import { listModels } from "../run-models.ts";

const BODY = JSON.stringify({ model: "tiny", messages: [{ role: "user", content: "12345678" }] });

/** The status with which the upstream shows that it was called. */
const SERVED = 404;

/** The client's answer, and the rows that the request left. */
async function outcome(world: TestPipeline, init: RequestInit = {}) {
  world.upstream = async () => new Response(null, { status: SERVED });
  const response = await run(world.received(init));
  const { error } = (await response.json().catch(() => ({}))) as { error?: { code: string } };
  await world.settled();
  return { status: response.status, code: error?.code, rows: [...world.recorded, ...world.orphans] };
}

/** A body that comes two seconds after the request. */
function slowBody(world: TestPipeline): RequestInit {
  const body = new ReadableStream({
    type: "bytes",
    pull: (controller) => {
      world.nowMs += 2000;
      controller.enqueue(new TextEncoder().encode(BODY));
      controller.close();
      controller.byobRequest?.respond(0);
    },
  });
  return { body, duplex: "half" } as RequestInit;
}

const ENDS: readonly (readonly [string, (untilMs: number) => Partial<ResolvedKey>, number, string])[] = [
  ["key", (untilMs) => ({ expires_at_ms: untilMs }), 403, "api_key_expired"],
  ["secret", (untilMs) => ({ secret_until_ms: untilMs }), 401, "invalid_api_key"],
  ["tenant's term", (untilMs) => ({ tenant: tenantOf({ active_until_ms: untilMs }) }), 403, "tenant_expired"],
];

describe.each(ENDS)("the end of a %s", (_, ending, status, code) => {
  it("counts for a copy that was read before it, and is exclusive", async () => {
    const world = new TestPipeline();
    world.key = keyOf(ending(world.nowMs + 1));
    world.keyInMemory = world.key;
    expect(await outcome(world)).toMatchObject({ status: SERVED });
    world.nowMs += 1;
    expect(await outcome(world)).toMatchObject({ status, code });
    expect(world.requests).toHaveLength(1);
  });

  it("that was put off meanwhile is read again before anybody is refused", async () => {
    const world = new TestPipeline();
    world.keyInMemory = keyOf(ending(world.nowMs));
    expect(await outcome(world)).toMatchObject({ status: SERVED });
  });

  it("counts for a copy while the store is down", async () => {
    const world = new TestPipeline();
    world.keyInMemory = keyOf(ending(world.nowMs));
    world.storeIsDown = true;
    expect(await outcome(world)).toMatchObject({ status, code });
  });

  it("counts when it comes while the body is sent, for stored answers too", async () => {
    const world = new TestPipeline();
    world.key = keyOf(ending(world.nowMs + 1000));
    world.model = modelOf({ cache_enabled: true });
    expect(await outcome(world, slowBody(world))).toMatchObject({ status, code });
    expect({ requests: world.requests, hits: world.hits, upstreamCalls: world.upstreamCalls }).toEqual({
      requests: [],
      hits: [],
      upstreamCalls: [],
    });
  });
});

it("the end of a key counts when it comes while a guard model examines the input", async () => {
  const guardrails_policy = { ...GUARD_POLICY, input_scanners: ["harm" as const], guard_model: "guard" };
  const world = new TestPipeline();
  world.otherModels.set("guard", modelOf({ model_name: "guard" }));
  world.key = keyOf({ expires_at_ms: world.nowMs + 1000, tenant: tenantOf({ guardrails_policy }) });
  const answered = outcome(world);
  world.upstream = async () => {
    world.nowMs += 2000;
    return Response.json({ choices: [{ message: { content: "safe" } }] });
  };
  expect(await answered).toMatchObject({ status: 403, code: "api_key_expired" });
  expect({
    upstreamCallCount: world.upstreamCalls.length,
    settledTokens: world.permit.settlement?.actualTokens,
  }).toEqual({ upstreamCallCount: 1, settledTokens: 0 });
});

it("an ended secret stands for nobody: its row has neither tenant nor key", async () => {
  const world = new TestPipeline();
  world.key = keyOf({ secret_until_ms: world.nowMs, disabled: true });
  const { code, rows } = await outcome(world);
  expect({ code, rowOwners: rows.map(({ tenant_id, key_id }) => [tenant_id, key_id].join(" ")) }).toEqual({
    code: "invalid_api_key",
    rowOwners: [expect.stringMatching(/^[0-]+ [0-]+$/)],
  });
});

describe("the list of a key", () => {
  it("refuses a model that is not on it, though the tenant's list has it, and lets in the others", async () => {
    const world = new TestPipeline();
    const tenant = tenantOf({ allowed_models: ["tiny", "other"] });
    world.key = keyOf({ tenant, allowed_models: ["other"] });
    expect(await outcome(world)).toMatchObject({ status: 403, code: "model_not_permitted" });
    world.key = keyOf({ tenant, allowed_models: ["tiny", "no such model"] });
    expect(await outcome(world)).toMatchObject({ status: SERVED });
  });

  it("shortens the list of models, and so does the tenant's, unless every model is listed", async () => {
    const world = new TestPipeline();
    world.otherModels.set("other", modelOf({ model_name: "other" }));
    const listed = async (): Promise<readonly string[]> => {
      const response = await listModels(world.received({ method: "GET", body: null }, "/v1/models"));
      return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    world.key = keyOf({ tenant: tenantOf({ allowed_models: ["tiny", "absent"] }) });
    expect(await listed()).toEqual(["tiny"]);
    world.key = keyOf({ allowed_models: ["other", "absent"] });
    expect(await listed()).toEqual(["other"]);
    world.listsAllModels = true;
    expect(await listed()).toEqual(["tiny", "other"]);
  });
});
