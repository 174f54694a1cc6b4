/**
 * Request bodies: complete however they arrive, within their size and time limits, and released however their call
 * ends.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { FORM_TYPE, formOf } from "../../../test/harness/edge/pipeline/forms.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { callerOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { run } from "../run.ts";
import { readBody, readPieces } from "./read-body.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const KIB = 1024;

/** A body whose pieces the test sends at chosen times. */
function upload(declaredBytes: number | null, path = "/v1/chat/completions", type = "application/json") {
  let send: ReadableByteStreamController | null = null;
  const client = new AbortController();
  const body = new ReadableStream({
    type: "bytes",
    start: (controller) => {
      send = controller;
    },
  });
  const length = declaredBytes === null ? {} : { "content-length": String(declaredBytes) };
  const init = {
    body,
    duplex: "half",
    signal: client.signal,
    headers: { authorization: `Bearer ${SECRET}`, "content-type": type, ...length },
  } as RequestInit;
  const more = (bytes: string | Uint8Array): void =>
    send?.enqueue(typeof bytes === "string" ? new TextEncoder().encode(bytes) : new Uint8Array(bytes));
  const breakOff = (): void => send?.error(new Error("reset"));
  return {
    init,
    path,
    send: more,
    end: (last = ""): void => {
      if (last !== "") more(last);
      send?.close();
      send?.byobRequest?.respond(0);
    },
    breakOff,
    leave: (): void => {
      client.abort();
      breakOff();
    },
  };
}

/** The start of a form, whose file has not arrived completely. */
const form = formOf({ model: "tiny" }, "x".repeat(300 * KIB)).slice(0, -100);

describe("a body", () => {
  it("is read completely, however it is cut and whether it declares its length", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.nat(500), fc.nat(200 * KIB)), { maxLength: 6 }),
        fc.boolean(),
        async (sizes, declares) => {
          const world = new TestPipeline();
          world.maxBodyBytes = 2048 * KIB;
          const bytes = sizes.reduce((sum, size) => sum + size, 0);
          const sent = upload(declares ? bytes : null);
          const reading = readBody(world.call(sent.init), callerOf());
          let at = 0;
          for (const size of sizes.filter((one) => one > 0)) {
            sent.send(Uint8Array.from({ length: size }, () => at++ % 251));
          }
          sent.end();
          const body = await reading;
          expect(body.byteLength).toBe(bytes);
          expect(body.every((byte, index) => byte === index % 251)).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("is kept in few pieces, however small the chunks that it comes in", async () => {
    const world = new TestPipeline();
    world.maxBodyBytes = 1024 * KIB;
    const sent = upload(null);
    const reading = readPieces(world.call(sent.init), callerOf());
    for (let at = 0; at < 30_000; at += 1) {
      sent.send(Uint8Array.of(at % 251, at % 7, at % 3, 1, 2));
      // each is read separately
      await Promise.resolve();
    }
    sent.end();
    const { pieces } = await reading;
    expect(pieces.length).toBeLessThanOrEqual(3);
    const whole = Buffer.concat(pieces);
    for (let at = 0; at < 30_000; at += 1)
      if (whole[5 * at] !== at % 251 || whole[5 * at + 1] !== at % 7) throw new Error(`chunk ${at}`);
  });
});

describe("the memory of a body that declares no length", () => {
  it.each([16, 5 * KIB, 40 * KIB, 65 * KIB, 100 * KIB, 2048 * KIB + 1])(
    "of %d bytes is that of its bytes",
    async (bytes) => {
      const world = new TestPipeline();
      world.maxBodyBytes = 4096 * KIB;
      const sent = upload(null);
      const reading = readPieces(world.call(sent.init), callerOf());
      for (let at = 0; at < bytes; at += 7000) sent.send(new Uint8Array(Math.min(7000, bytes - at)));
      sent.end();
      const { pieces } = await reading;
      expect(pieces.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)).toBe(bytes);
    },
  );
});

it("the body of a line of a batch takes nothing of the memory for other bodies", async () => {
  const world = new TestPipeline();
  world.maxBodyBytes = 1024 * KIB;
  const sent = upload(null);
  const line = { requestId: "r", keyHash: "h" };
  const reading = readPieces({ ...world.call(sent.init), line }, callerOf());
  sent.end("x".repeat(200 * KIB));
  await reading;
  const { bodyMemory, lineMemory } = world.memory;
  expect({ bodies: bodyMemory.usedBytes, lines: lineMemory.usedBytes }).toEqual({ bodies: 0, lines: 200 * KIB });
});

describe("what an upload holds", () => {
  /** However the body ends, no memory is reserved afterwards. */
  it.each<[string, (sent: ReturnType<typeof upload>) => void, number | null]>([
    ["is whole", (sent) => sent.end(`${"x".repeat(200 * KIB)}"}`), 200],
    ["is no JSON", (sent) => sent.end("{}"), 400],
    ["breaks off", (sent) => sent.breakOff(), 499],
    ["is left", (sent) => sent.leave(), 499],
    ["is too large", (sent) => sent.end("x".repeat(900 * KIB)), 413],
  ])("is given back when its body %s", async (_, ending, status) => {
    const world = new TestPipeline();
    world.maxBodyBytes = 1024 * KIB;
    const sent = upload(null);
    const answer = run(world.received(sent.init));
    sent.send(`{"model":"tiny","messages":[],"x":"${"x".repeat(200 * KIB)}`);
    await waitFor(
      () => world.memory.bodyMemory.usedBytes,
      (bytes) => bytes > 200 * KIB,
    );
    ending(sent);
    const response = await answer;
    expect(response.status).toBe(status);
    await response.text();
    await world.settled();
    expect(world.memory.bodyMemory.usedBytes).toBe(0);
  });

  it("counts for its tenant: another tenant's body still fits", async () => {
    const world = new TestPipeline();
    world.maxBodyBytes = 40_000 * KIB;
    const large = upload(null);
    const running = run(world.received(large.init));
    large.send(new Uint8Array(36_000 * KIB));
    await waitFor(
      () => world.memory.bodyMemory.usedBytes,
      (bytes) => bytes > 32_000 * KIB,
    );
    const other = Object.assign(new TestPipeline(), { memory: world.memory });
    other.maxBodyBytes = world.maxBodyBytes;
    other.key = { ...(world.key as NonNullable<TestPipeline["key"]>), tenant: tenantOf({ id: "other" }) };
    const second = upload(null);
    const answer = run(other.received(second.init));
    second.send(`{"model":"tiny","messages":[],"x":"${"x".repeat(20_000 * KIB)}"}`);
    second.end();
    const answered = await answer;
    expect({ status: answered.status, body: await answered.json() }).toEqual({ status: 200, body: expect.anything() });
    large.breakOff();
    await (await running).text();
    // A timer that fired later would be taken for a timer of a later test, whose timers are fake.
    await Promise.all([world.settled(), other.settled()]);
  });
});

describe("the time of a body", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));

  async function pass(world: TestPipeline, ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 250) {
      world.nowMs += 250;
      await vi.advanceTimersByTimeAsync(250);
    }
  }

  const start = '{"model":"tiny","x":"';

  it.each([
    ["of JSON", () => upload(100), start],
    ["of JSON without a length", () => upload(null), start],
    ["of JSON, large", () => upload(900 * KIB), `${start}${"x".repeat(200 * KIB)}`],
    ["of a form", () => upload(null, "/v1/audio/transcriptions", FORM_TYPE), form.slice(0, 30)],
  ])("%s ends after 30 s without a byte, and starts again at each byte", async (_, make, first) => {
    const world = new TestPipeline();
    world.maxBodyBytes = 1024 * KIB;
    const sent = make();
    const answer = run(world.received(sent.init, sent.path));
    sent.send(first);
    await pass(world, 29_000);
    sent.send(" ");
    await pass(world, 29_000);
    expect(world.recorded).toEqual([]);
    await pass(world, 2_000);
    const response = await answer;
    expect({ status: response.status, "x-should-retry": response.headers.get("x-should-retry") }).toEqual({
      status: 408,
      "x-should-retry": "false",
    });
    expect(await response.json()).toEqual({
      error: { message: "request body timed out", type: "invalid_request_error", code: "request_timeout", param: null },
    });
    expect(world.recorded).toMatchObject([{ status_code: 408, admission: "rejected" }]);
    expect({
      requests: world.requests,
      usedBytes: world.memory.bodyMemory.usedBytes,
      timerCount: vi.getTimerCount(),
    }).toEqual({ requests: [], usedBytes: 0, timerCount: 0 });
  });

  it("ends after 300 s in all, however many bytes come", async () => {
    const world = new TestPipeline();
    const sent = upload(1000);
    const answer = run(world.received(sent.init));
    for (let secs = 0; secs < 298; secs += 2) {
      sent.send("x");
      await pass(world, 2_000);
    }
    expect(world.recorded).toEqual([]);
    await pass(world, 3_000);
    expect((await answer).status).toBe(408);
  });

  it("of a streamed form runs while its upstream waits for it, not while the upstream stalls", async () => {
    const world = new TestPipeline();
    world.maxBodyBytes = 1024 * KIB;
    const taking = Promise.withResolvers<void>();
    world.upstream = async ({ body }) => {
      await taking.promise;
      await new Response(body as ReadableStream<Uint8Array>).text();
      return Response.json({});
    };
    const sent = upload(null, "/v1/audio/transcriptions", FORM_TYPE);
    const answer = run(world.received(sent.init, sent.path));
    sent.send(form);
    await pass(world, 200_000);
    expect(world.permit.settlement).toBeNull();
    taking.resolve();
    await pass(world, 29_000);
    expect(world.permit.settlement).toBeNull();
    await pass(world, 2_000);
    expect((await answer).status).toBe(408);
    await world.settled();
    expect(world.permit.settlement).toMatchObject({ actualTokens: 0, row: { status_code: 408, total_tokens: 0 } });
  });
});

describe("the rest of a body", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));

  it("of a refused form is read and discarded for a while, without delaying the refusal", async () => {
    const world = new TestPipeline();
    world.model = null;
    world.maxBodyBytes = 1024 * KIB;
    const left = Promise.withResolvers<void>();
    world.sleep = async () => await left.promise;
    const sent = upload(null, "/v1/audio/transcriptions", FORM_TYPE);
    const answer = run(world.received(sent.init, sent.path));
    sent.send(form);
    const response = await answer;
    expect(response.status).toBe(404);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toContain("not registered");
    const over = reader.read();
    sent.send("x".repeat(2000));
    // nothing more comes, and no code waits for more
    left.resolve();
    expect((await over).done).toBe(true);
    expect(world.waits).toEqual([5000]);
  });
});
