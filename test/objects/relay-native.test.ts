/**
 * A stream whose usage event the client asked for, inside the runtime: the client gets the same bytes at any pace
 * (docs/rules/streams.md#two-relays).
 */
import { describe, expect, it } from "vitest";
import { Interruption } from "../../edge/pipeline/call/interruption.ts";
import { Turns } from "../../edge/pipeline/call/memory/turns.ts";
import { SharedTimer } from "../../edge/pipeline/call/shared-timer.ts";
import { AttemptCancellation } from "../../edge/pipeline/forward/attempt-cancellation.ts";
import { ByteTurns } from "../../edge/pipeline/relay/byte-turns.ts";
import type { BodyEnd, RelayJob } from "../../edge/pipeline/relay/relay-job.ts";
import { relayNative } from "../../edge/pipeline/relay/relay-native.ts";

const EVENTS = Array.from({ length: 300 }, (_, at) => `data: {"choices":[{"delta":{"content":"word ${at}"}}]}\n\n`);
const TEXT = `${EVENTS.join("")}data: [DONE]\n\n`;
const LONG_MS = 60_000;
const SHORT_MS = 50;

const paces = {
  /** No time passes on this clock. */
  fast: () => () => 1,
  /** On this clock a second passes between two looks. */
  slow: () => {
    let nowMs = 0;
    return () => (nowMs += 1000);
  },
  "fast, then slow": () => {
    let looks = 0;
    return () => (looks++ < 12 ? 1 : looks * 5);
  },
  "slow, then fast": () => {
    let looks = 0;
    return () => (looks++ < 12 ? looks * 5 : 100);
  },
} as const;

interface Scene {
  /** The text of the whole answer, read by the client. */
  readonly text: () => Promise<string>;
  /** The client leaves after this many reads. */
  readonly leave: (reads: number) => Promise<void>;
  readonly ended: Promise<BodyEnd>;
  /** Whether the client was cut off because it read nothing. */
  readonly cutOff: () => boolean;
  /** Resolves when the attempt is ended, whatever ends it. */
  readonly stopped: Promise<void>;
  /** Resolves when the relay has inspected this many characters. */
  readonly saw: (characters: number) => Promise<void>;
  readonly seen: { upstream: string; client: string };
  /** How often the relay has given everybody else a turn. */
  readonly turns: () => number;
}

/** The body that an upstream sends; it breaks off when the upstream call is ended. */
type Source = (stop: AbortSignal) => ReadableStream<Uint8Array>;

function relayed(source: Source, clock: () => number, stalledReaderMs = LONG_MS, head = ""): Scene {
  const client = new AbortController();
  const seen = { upstream: "", client: "" };
  let turns = 0;
  const [upstream, own] = [new TextDecoder(), new TextDecoder()];
  const watching: (() => void)[] = [];
  const saw = async (characters: number): Promise<void> => {
    while (seen.upstream.length < characters) await new Promise<void>((resolve) => void watching.push(resolve));
  };
  const limits = { wholeMs: LONG_MS, firstMs: 0, idleMs: 0 };
  const stop = new AttemptCancellation(client.signal, limits, new SharedTimer(Date.now), clock, new Interruption());
  const job: RelayJob = {
    body: source(stop.signal),
    head: new Uint8Array(new TextEncoder().encode(head)),
    cancellation: stop,
    clock,
    timer: new SharedTimer(Date.now),
    turns: new ByteTurns({
      memory: { turns: new Turns() },
      ports: {
        clock,
        sleep: async () => {
          turns += 1;
        },
      },
      request: {},
    }),
    path: "/v1/chat/completions",
    requestId: "request",
    stalledReaderMs,
    keepAliveMs: 0,
    events: true,
    transforms: [],
    isWhole: () => false,
    onUpstream: (chunk) => {
      seen.upstream += upstream.decode(chunk, { stream: true });
      for (const check of watching.splice(0)) check();
    },
    onClient: (chunk) => {
      seen.client += own.decode(chunk, { stream: true });
    },
  };
  const { readable, ended } = relayNative(job);
  const leave = async (reads: number): Promise<void> => {
    const reader = readable.getReader();
    for (let read = 0; read < reads; read += 1) await reader.read();
    client.abort();
    await reader.cancel();
  };
  return {
    text: async () => await new Response(readable).text(),
    leave,
    ended: ended.finally(() => stop.release()),
    cutOff: () => stop.readerStalled,
    stopped: new Promise((resolve) => stop.signal.addEventListener("abort", () => resolve())),
    saw,
    seen,
    turns: () => turns,
  };
}

const source = (pieces: readonly string[]): Source => {
  const left = [...pieces];
  return () =>
    new ReadableStream(
      {
        type: "bytes",
        pull: (controller) => {
          const piece = left.shift();
          if (piece === undefined) controller.close();
          else controller.enqueue(new TextEncoder().encode(piece));
        },
      },
      { highWaterMark: 0 },
    );
};

describe.each(Object.entries(paces))("a stream that comes %s", (_, pace) => {
  it("reaches the client whole, and the scan as well", async () => {
    const { text, ended, seen } = relayed(source([...EVENTS, "data: [DONE]\n\n"]), pace());
    expect(await text()).toBe(TEXT);
    expect(await ended).toBe("complete");
    expect(seen).toEqual({ upstream: TEXT, client: TEXT });
  });

  it("reaches the client whole when its beginning was read before", async () => {
    const rest = source([...EVENTS.slice(1), "data: [DONE]\n\n"]);
    const { text, ended, seen } = relayed(rest, pace(), LONG_MS, EVENTS[0]);
    expect(await text()).toBe(TEXT);
    expect(await ended).toBe("complete");
    expect(seen).toEqual({ upstream: TEXT, client: TEXT });
  });

  it("is released when the client leaves before it took the beginning that was read", async () => {
    const { leave, ended } = relayed(source(EVENTS.slice(1)), pace(), LONG_MS, EVENTS[0]);
    await leave(0);
    expect(await ended).toBe("gone");
  });

  it.each([0, 1, 2, 3, 20])("is released when the client leaves after %i reads", async (reads) => {
    const gone = Promise.withResolvers<void>();
    const endless: Source = (stop) =>
      new ReadableStream(
        {
          type: "bytes",
          start: (controller) =>
            stop.addEventListener("abort", () => {
              controller.error(stop.reason);
              gone.resolve();
            }),
          pull: (controller) => controller.enqueue(new TextEncoder().encode(EVENTS[0])),
          cancel: () => gone.resolve(),
        },
        { highWaterMark: 0 },
      );
    const { leave, ended } = relayed(endless, pace());
    await leave(reads);
    expect(await ended).toBe("gone");
    await gone.promise;
  });
});

it("leaves turns to others while a large one is inspected", async () => {
  const pieces = Array.from({ length: 64 }, () => `data: ${"x".repeat(16 * 1024)}\n\n`);
  const scene = relayed(source(pieces), paces.fast());
  expect((await scene.text()).length).toBe(pieces.join("").length);
  await scene.ended;
  expect(scene.turns()).toBeGreaterThanOrEqual(2);
});

it("may be split at every byte", async () => {
  const text = `${EVENTS[0]}${EVENTS[1]}data: [DONE]\n\n`;
  for (const pace of Object.values(paces))
    for (let at = 1; at < text.length; at += 1) {
      const scene = relayed(source([text.slice(0, at), text.slice(at)]), pace());
      expect(await scene.text()).toBe(text);
      expect(scene.seen.upstream).toBe(text);
    }
});

describe("a stream that has come to its end", () => {
  it("is cut off for a client that reads nothing of it", async () => {
    const { stopped, leave, ended, cutOff, seen } = relayed(source([TEXT]), Date.now, SHORT_MS);
    await stopped;
    expect(cutOff()).toBe(true);
    await leave(0);
    expect({ ended: await ended, upstream: seen.upstream }).toEqual({ ended: "gone", upstream: TEXT });
  });

  it.each([LONG_MS, 0])(
    "stays open for a client that reads it late, with a stalled-reader limit of %i ms",
    async (stalledReaderMs) => {
      const { text, ended, saw, cutOff } = relayed(source([TEXT]), Date.now, stalledReaderMs);
      await saw(TEXT.length);
      expect(await text()).toBe(TEXT);
      expect({ ended: await ended, cutOff: cutOff() }).toEqual({ ended: "complete", cutOff: false });
    },
  );
});
