/** How long a stream may take, and how long it may be silent (docs/rules/upstream-calls.md#time-limits). */
import { beforeEach, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { run } from "../run.ts";

beforeEach(() => {
  vi.stubGlobal("IdentityTransformStream", IdentityTransform);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

const MINUTE_MS = 60_000;
const EVENT = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const KEEP_ALIVE = ": keep-alive\n\n";

/** A stream whose events the test sends, and the client's part so far. */
async function streamed(model: Parameters<typeof modelOf>[0]) {
  const world = new TestPipeline();
  world.model = modelOf(model);
  let upstream: ReadableByteStreamController | null = null;
  world.upstream = async ({ signal }) => {
    const start = (controller: ReadableByteStreamController): void => {
      upstream = controller;
      signal.addEventListener("abort", () => controller.error(signal.reason));
    };
    return new Response(new ReadableStream({ type: "bytes", start }), {
      headers: { "content-type": "text/event-stream" },
    });
  };
  const send = (text: string): void => upstream?.enqueue(new Uint8Array(new TextEncoder().encode(text)));
  const end = (): void => {
    upstream?.close();
    upstream?.byobRequest?.respond(0);
  };
  const answering = run(world.received({ body: '{"model":"tiny","stream":true,"messages":[]}' }));
  const text = answering.then(async (response) => await response.text());
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      world.nowMs += 500;
      await vi.advanceTimersByTimeAsync(500);
    }
  };
  return { world, send, end, pass, text, row: () => world.permit.settlement?.row };
}

it("a stream that continues is not cut, however long it takes", async () => {
  const { world, send, end, pass, text, row } = await streamed({
    request_timeout_secs: null,
    stream_keepalive_secs: 0,
  });
  await pass(MINUTE_MS);
  for (let minute = 0; minute < 20; minute += 1) {
    send(EVENT);
    await pass(4 * MINUTE_MS);
  }
  expect(row()).toBeUndefined();
  end();
  expect(await text).toBe(EVENT.repeat(20));
  await world.settled();
  expect(row()).toMatchObject({ status_code: 200, error_code: "", attempts: 1 });
});

it.each([
  ["the default, when it is silent", {}, 300],
  ["its own limit, when it is silent", { idle_timeout_secs: 30 }, 30],
])("a stream ends after %s", async (_, model, limitSecs) => {
  const { world, send, pass, text, row } = await streamed({ stream_keepalive_secs: 0, ...model });
  await pass(1000);
  send(EVENT);
  await pass(limitSecs * 1000 - 2000);
  expect(row()).toBeUndefined();
  await pass(4000);
  expect(row()).toMatchObject({ status_code: 200, error_code: "upstream_stream_error" });
  expect(await text).toContain('"code":"upstream_stream_error"');
  expect(world.logged).toContainEqual(expect.objectContaining({ reason: `timed out: nothing for ${limitSecs} s` }));
});

it("a stream of comments that breaks owes no output", async () => {
  const { send, pass, row } = await streamed({ stream_keepalive_secs: 0, idle_timeout_secs: 30 });
  await pass(1000);
  send(`: ${"x".repeat(4000)}\n\n`);
  await pass(32_000);
  expect(row()).toMatchObject({ error_code: "upstream_stream_error", output_tokens: 0 });
});

it("a stream ends at the total time of its model although it continues", async () => {
  const { send, pass, row } = await streamed({ request_timeout_secs: 60, stream_keepalive_secs: 0 });
  for (let secs = 0; secs < 58; secs += 2) {
    send(EVENT);
    await pass(2000);
  }
  expect(row()).toBeUndefined();
  await pass(4000);
  expect(row()).toMatchObject({ status_code: 200, error_code: "upstream_stream_error" });
});

it.each([
  ["an answer", 200, "application/json"],
  ["a refusal", 400, "application/json"],
  ["a stream whose usage is withheld", 200, "text/event-stream"],
])("%s that passes its time is the upstream's failure, however slow its reader", async (_, status, type) => {
  const world = new TestPipeline();
  world.model = modelOf({ request_timeout_secs: 3 });
  const head = { status, headers: { "content-type": type } };
  world.upstream = async ({ signal }) => {
    const start = (controller: ReadableByteStreamController): void =>
      signal.addEventListener("abort", () => controller.error(signal.reason));
    const pull = (controller: ReadableByteStreamController): void =>
      controller.enqueue(new TextEncoder().encode(EVENT));
    return new Response(new ReadableStream({ type: "bytes", start, pull }), head);
  };
  const stream = type === "text/event-stream";
  const response = await run(world.received({ body: JSON.stringify({ model: "tiny", stream, messages: [] }) }));
  const reader = response.body?.getReader();
  await reader?.read();
  const nextPiece = vi.advanceTimersByTimeAsync(4_000).then(async () => await reader?.read());
  await nextPiece.catch(() => undefined);
  while (stream && !(await reader?.read())?.done);
  await world.settled();
  expect({ row: world.permit.settlement?.row, alerts: world.alerts }).toMatchObject({
    row: { status_code: status, error_code: "upstream_stream_error" },
    alerts: [{ issueKey: expect.stringContaining("upstream_stream_error") }],
  });
});

it("a client that waits gets comments until its answer comes, and only while nothing else does", async () => {
  const { send, end, pass, text } = await streamed({ stream_keepalive_secs: 25 });
  await pass(51_000);
  send(EVENT);
  await pass(24_000);
  send(EVENT);
  await pass(26_000);
  end();
  expect(await text).toBe(KEEP_ALIVE.repeat(2) + EVENT + EVENT + KEEP_ALIVE);
});
