/** Bodies whose values take more memory than their bytes (docs/rules/request-bodies.md#memory). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../test/harness/edge/pipeline/identity-transform.ts";
import { TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { run } from "./run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const KIB = 1024;

const MANY = Array.from({ length: 20_000 }, () => '{"role":"user","content":"x"}').join(",");
const HEAVY = `{"model":"tiny","messages":[${MANY}],"stream":false}`;

/** The memory of the body at each point of its way, and the upstream's body. */
async function memoryOf(body: string) {
  const world = new TestPipeline();
  world.maxBodyBytes = 4096 * KIB;
  const used: Record<string, number> = {};
  let sent = "";
  world.upstream = async (call) => {
    used["sent"] = world.memory.bodyMemory.usedBytes;
    sent = await new Response(call.body as BodyInit).text();
    return Response.json({ choices: [] });
  };
  const received = world.received({ body });
  const { admission } = received.ports;
  const admit: typeof admission.admit = async (request) => {
    used["queued"] = world.memory.bodyMemory.usedBytes;
    return await admission.admit(request);
  };
  const response = await run({ ...received, ports: { ...received.ports, admission: { ...admission, admit } } });
  await response.text();
  await world.settled();
  return {
    status: response.status,
    used,
    isWhole: sent === body.replace('"tiny"', '"tiny-upstream"'),
    after: world.memory.bodyMemory.usedBytes,
  };
}

describe("the memory of a body of many values", () => {
  it("is that of its bytes once it is estimated, and the upstream gets all of it", async () => {
    const bytes = HEAVY.length;
    expect(await memoryOf(HEAVY)).toEqual({
      status: 200,
      used: { queued: bytes, sent: bytes },
      isWhole: true,
      after: 0,
    });
  });

  it("stays that of its values while another member than its lists has them", async () => {
    const body = `{"model":"tiny","messages":[],"metadata":[${MANY}]}`;
    const { used, after } = await memoryOf(body);
    expect({ isKept: (used["queued"] ?? 0) > 4 * body.length, after }).toEqual({ isKept: true, after: 0 });
  });
});
