/** Which calls are captured, and that nothing is held of others (docs/rules/capture.md). */
import { beforeEach, expect, it, vi } from "vitest";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { keyOf, modelOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { originOf } from "../response-cache/response-cache.ts";
import { run, runLine } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const NOW_MS = new TestPipeline().nowMs;
const captured = (untilMs: number | null) => keyOf({ tenant: tenantOf({ capture_until_ms: untilMs }) });
function worldOf(untilMs: number | null): TestPipeline {
  const world = new TestPipeline();
  world.key = captured(untilMs);
  return world;
}
async function ended(world: TestPipeline, answering = run(world.received())): Promise<void> {
  await (await answering).text();
  await world.settled();
}
const held = ({ memory, captures }: TestPipeline) => ({
  kept: captures.length,
  bytes: memory.cacheMemory.usedBytes,
  free: memory.captures.begin(tenantOf().id) !== null,
});
const outcomes = ({ events }: TestPipeline) =>
  events.filter(({ metric }) => metric === "gateway_captures_total").map(({ labels }) => labels[0]);

it.each([
  ["off", null],
  ["over", NOW_MS],
])("keeps nothing of a call while capture is %s", async (_, untilMs) => {
  const world = worldOf(untilMs);
  await ended(world);
  expect({ ...held(world), outcomes: outcomes(world) }).toEqual({ kept: 0, bytes: 0, free: true, outcomes: [] });
});

it("keeps request and answer until the time, and holds nothing afterwards", async () => {
  const world = worldOf(NOW_MS + 1);
  await ended(world);
  expect(world.captures[0]).toMatchObject({
    path: "/v1/chat/completions",
    status_code: 200,
    request: { text: expect.stringContaining("12345678"), cut: false },
    answer: { text: '{"choices":[]}', bytes: 14, cut: false },
  });
  expect({ ...held(world), outcomes: outcomes(world) }).toEqual({ kept: 1, bytes: 0, free: true, outcomes: ["kept"] });
});

it("keeps a stored answer", async () => {
  const world = worldOf(NOW_MS + 1);
  const model = modelOf({ cache_enabled: true });
  world.model = model;
  world.entry = {
    v: 1,
    path: "/v1/chat/completions",
    status: 200,
    content_type: "application/json",
    body: Uint8Array.from(new TextEncoder().encode('{"stored":1}')),
    input_tokens: 1,
    output_tokens: 1,
    stored_at_ms: 0,
    origin: originOf(model),
  };
  await ended(world);
  expect({ ...held(world), answer: world.captures[0]?.answer?.text, calls: world.upstreamCalls.length }).toEqual({
    kept: 1,
    bytes: 0,
    free: true,
    answer: '{"stored":1}',
    calls: 0,
  });
});

it("keeps what the client gets of an upstream that refuses the request", async () => {
  const world = worldOf(NOW_MS + 1);
  world.upstream = async () => Response.json({ error: { message: "no" } }, { status: 400 });
  await ended(world);
  expect(world.captures[0]).toMatchObject({ status_code: 400, answer: { text: '{"error":{"message":"no"}}' } });
});

it.each([
  ["was turned off", () => ({ key: captured(null) })],
  ["ended", ({ nowMs }: TestPipeline) => ({ nowMs: nowMs + 1 })],
])("keeps nothing of a call that was running when capture %s", async (_, change) => {
  const world = worldOf(NOW_MS + 1);
  world.upstream = async () => {
    Object.assign(world, change(world));
    return Response.json({ choices: [] });
  };
  await ended(world);
  expect({ ...held(world), outcomes: outcomes(world) }).toEqual({
    kept: 0,
    bytes: 0,
    free: true,
    outcomes: ["dropped"],
  });
});

it("keeps no line of a batch", async () => {
  const world = worldOf(NOW_MS + 1);
  const line = { requestId: "00000000-0000-4000-8000-0000000000ff", keyHash: "hash" };
  await ended(
    world,
    runLine({ ...world.received(), line }).then(({ response }) => response),
  );
  expect(held(world)).toEqual({ kept: 0, bytes: 0, free: true });
});

it("captures some calls of a tenant at once, and counts the others", async () => {
  const world = worldOf(NOW_MS + 1);
  for (let count = 0; count < LIMITS.tenantCaptureCalls; count += 1) world.memory.captures.begin(tenantOf().id);
  await ended(world);
  expect({ kept: world.captures.length, outcomes: outcomes(world) }).toEqual({ kept: 0, outcomes: ["dropped"] });
});
