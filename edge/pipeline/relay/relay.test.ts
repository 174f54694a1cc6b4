/**
 * The memory of an answer while it is relayed, and its bill at the end (docs/rules/upstream-calls.md#attempts,
 * docs/rules/settlement-and-rows.md#what-was-seen).
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { bodyOf } from "../../../test/harness/edge/pipeline/upstreams.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { MemoryBudget } from "../call/memory/memory-budget.ts";
import { run } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const encoder = new TextEncoder();
const TEXT = JSON.stringify({ choices: [{ message: { content: "x".repeat(400) } }] });
const JSON_TYPE = { "content-type": "application/json" };
const EVENTS = { "content-type": "text/event-stream" };

/** An answer in pieces. */
function inPieces(pieces: readonly string[], headers: Readonly<Record<string, string>>): Response {
  const left = pieces.map((piece) => new Uint8Array(encoder.encode(piece)));
  return new Response(
    bodyOf(() => left.shift() ?? null),
    { headers },
  );
}

async function answered(world: TestPipeline, init: RequestInit = {}): Promise<string> {
  const response = await run(world.received(init));
  const text = await response.text();
  await world.settled();
  return text;
}

describe("an answer that is to be stored", () => {
  it.each([
    ["in one piece", { ...JSON_TYPE, "content-length": String(TEXT.length) }, [TEXT]],
    ["in several", JSON_TYPE, [TEXT.slice(0, 100), TEXT.slice(100)]],
  ])(
    "%s is held if the isolate has memory for it, and otherwise relayed without being held",
    async (_, headers, pieces) => {
      for (const [room, stored] of [
        [new MemoryBudget(TEXT.length), 1],
        [new MemoryBudget(TEXT.length - 1), 0],
      ] as const) {
        const world = new TestPipeline();
        world.memory.cacheMemory = room;
        world.model = modelOf({ cache_enabled: true, cache_ttl_secs: 60 });
        world.upstream = async () => inPieces(pieces, headers);
        expect(await answered(world)).toBe(TEXT);
        expect({ storedCount: world.stored.length, usedBytes: room.usedBytes }).toEqual({
          storedCount: stored,
          usedBytes: 0,
        });
      }
    },
  );

  it("frees its memory when it breaks off, is left, or is no success", async () => {
    const world = new TestPipeline();
    world.model = modelOf({ cache_enabled: true, cache_ttl_secs: 60 });
    const client = new AbortController();
    const half = new Uint8Array(encoder.encode(TEXT.slice(0, 50)));
    const breaks = (then: () => void): Response => {
      let begun = false;
      return new Response(
        bodyOf(() => {
          if (!begun) {
            begun = true;
            return half.slice();
          }
          then();
          throw new Error("cut");
        }),
        { headers: JSON_TYPE },
      );
    };
    const answers: readonly (readonly [Response, AbortSignal | null])[] = [
      [breaks(() => undefined), null],
      [breaks(() => client.abort()), client.signal],
      [new Response("no", { status: 400 }), null],
    ];
    for (const [response, signal] of answers) {
      world.upstream = async () => response;
      await answered(world, { signal }).catch(() => undefined);
      await world.settled();
      expect({
        answerBytes: world.memory.answerMemory.usedBytes,
        cacheBytes: world.memory.cacheMemory.usedBytes,
      }).toEqual({ answerBytes: 0, cacheBytes: 0 });
    }
    expect(world.stored).toEqual([]);
  });
});

describe("memory for answers", () => {
  it("is shared by all answers, and freed once", () => {
    const room = new MemoryBudget(10);
    const [first, second] = [room.open(), room.open()];
    expect({
      firstGrewBy6: first.grow(6),
      secondGrewBy5: second.grow(5),
      secondGrewBy4: second.grow(4),
      usedBytes: room.usedBytes,
    }).toEqual({ firstGrewBy6: true, secondGrewBy5: false, secondGrewBy4: true, usedBytes: 10 });
    first.close();
    first.close();
    expect({ firstGrew: first.grow(1), secondGrew: second.grow(6), usedBytes: room.usedBytes }).toEqual({
      firstGrew: false,
      secondGrew: true,
      usedBytes: 10,
    });
    second.close();
    expect(room.usedBytes).toBe(0);
  });
});

describe("an answer without a usage report", () => {
  const estimate = { inputTokens: 6, outputTokens: 512 };

  it.each<[string, () => Response, number]>([
    ["204", () => new Response(null, { status: 204 }), 0],
    ["200 without a byte", () => inPieces([], { "content-type": "text/plain" }), 0],
    ["a text that is shorter than the estimate", () => inPieces([TEXT], JSON_TYPE), estimate.outputTokens],
    ["a text that is longer", () => inPieces([TEXT.replace("xxxx", "x".repeat(8000))], JSON_TYPE), 2099],
    ["a stream of more events than were estimated", () => inPieces(many(600), EVENTS), 600],
  ])("is billed what was seen of it: %s", async (_, response, outputTokens) => {
    const world = new TestPipeline();
    world.upstream = async () => response();
    await answered(world);
    const tokens = { input_tokens: estimate.inputTokens, output_tokens: outputTokens };
    expect(world.permit.settlement?.row).toMatchObject({
      ...tokens,
      total_tokens: estimate.inputTokens + outputTokens,
    });
  });
});

const many = (count: number): string[] =>
  Array.from({ length: count }, () => `data: {"choices":[{"delta":{"content":"a"}}]}\n\n`);

describe("a client that takes nothing", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));

  /** A stream that the client does not read, and its outcome while the test's clock runs. */
  async function unread(world: TestPipeline, pull: (at: number) => Uint8Array<ArrayBuffer> | null) {
    let pulls = 0;
    let ended = false;
    world.upstream = async ({ signal }) => {
      signal.addEventListener("abort", () => {
        ended = true;
      });
      return new Response(
        bodyOf(() => pull(pulls++)),
        { headers: EVENTS },
      );
    };
    const response = await run(world.received({ body: '{"model":"tiny","stream":true,"messages":[]}' }));
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 250) {
        world.nowMs += 250;
        await vi.advanceTimersByTimeAsync(250);
      }
    };
    return { response, pass, ended: () => ended };
  }

  const piece = (): Uint8Array<ArrayBuffer> => new Uint8Array(encoder.encode(many(1)[0]));

  it("is cut off after a minute, and billed what was seen", async () => {
    const world = new TestPipeline();
    const { response, pass, ended } = await unread(world, piece);
    await pass(59_000);
    expect({ settlement: world.permit.settlement, ended: ended() }).toEqual({ settlement: null, ended: false });
    await pass(2_000);
    expect(world.permit.settlement?.row).toMatchObject({ status_code: 499, output_tokens: 1 });
    expect(ended()).toBe(true);
    expect(world.logged.at(-1)).toMatchObject({ status: 499, client_gone: true, reader_stalled: true });
    await expect(response.text()).rejects.toThrow();
  });

  it("is never cut off when the limit is off", async () => {
    const world = new TestPipeline();
    world.stalledReaderMs = 0;
    world.upstreamTimeoutMs = 10 * 60_000;
    const { pass } = await unread(world, piece);
    await pass(9 * 60_000);
    expect(world.permit.settlement).toBeNull();
  });

  it("has a minute to take the report of the break, even then", async () => {
    const world = new TestPipeline();
    world.stalledReaderMs = 0;
    world.upstreamTimeoutMs = 10 * 60_000;
    const { response, pass } = await unread(world, (at) => {
      if (at === 0) return piece();
      throw new Error("cut");
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await pass(59_000);
    expect(world.permit.settlement).toBeNull();
    await pass(2_000);
    // the stream broke first
    expect(world.permit.settlement?.row).toMatchObject({ status_code: 200 });
  });
});

it("of many stored objects waits for a slow store two seconds in all", async () => {
  const world = new TestPipeline();
  world.rememberMs = 900;
  const ids = ["a", "b", "c", "d", "e"];
  const events = ids.map((id) => ({ type: "response.output_item.done", item: { type: "message", id } }));
  world.upstream = async () =>
    inPieces(
      events.map((event) => `data: ${JSON.stringify(event)}\n\n`),
      EVENTS,
    );
  const body = JSON.stringify({ model: "tiny", input: "12345678", stream: true });
  await (await run(world.received({ body }, "/v1/responses"))).text();
  await world.settled();
  expect({ awaited: world.awaited, known: [...world.objects.keys()] }).toEqual({
    awaited: [true, true, true, false, false],
    known: ids,
  });
});

describe("the row of a client that leaves", () => {
  it("after the head of a refusal has the status of that refusal", async () => {
    const world = new TestPipeline();
    const client = new AbortController();
    const piece = new Uint8Array(encoder.encode('{"detail":"later"}'));
    const body = bodyOf(() => piece.slice());
    world.upstream = async () => new Response(body, { status: 429, headers: { "content-type": "application/json" } });
    const response = await run(world.received({ signal: client.signal }));
    client.abort();
    await response.body?.cancel();
    await world.settled();
    expect(world.permit.settlement).toMatchObject({ actualTokens: 0, row: { status_code: 429, error_code: "" } });
  });

  it("after an error event has that error", async () => {
    const world = new TestPipeline();
    const event = encoder.encode('data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"error":{"code":500}}\n\n');
    const body = bodyOf(() => event.slice());
    world.upstream = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
    const response = await run(world.received({ body: '{"model":"tiny","stream":true,"messages":[]}' }));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await world.settled();
    const row = { status_code: 200, error_code: "upstream_stream_error" };
    expect(world.permit.settlement).toMatchObject({ row });
  });
});
