/** The WebSocket mode of Responses on a connection that a test holds (docs/rules/realtime.md#responses-over-a-websocket). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import {
  completed,
  create,
  type NthAnswer,
  openResponses,
  passTime,
  stream,
} from "../../../test/harness/edge/pipeline/responses-socket.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { AT_ONCE_MAX, watchPatterns } from "../../../test/harness/edge/work-at-once.ts";

let world: TestPipeline;

beforeEach(() => {
  vi.useFakeTimers();
  world = new TestPipeline();
});

const pass = async (ms: number) => await passTime(world, ms, async (due) => await vi.advanceTimersByTimeAsync(due));
const opened = (answer: NthAnswer) => openResponses(world, answer);

describe("a request", () => {
  it("is that of the route, streamed, without the members of the mode", async () => {
    const { socket, asked } = opened(async () => completed("r1"));
    socket.says(create({ stream_id: "lane", generate: true, background: false, temperature: 1 }));
    await pass(1);
    expect(asked).toEqual([{ model: "tiny", store: false, input: "hello", temperature: 1, stream: true }]);
    expect(socket.events).toMatchObject([{ stream_id: "lane", type: "response.completed" }]);
  });

  it("that continues a kept response has its items, and not its id", async () => {
    const { socket, asked } = opened(async (_, nth) => completed(`r${nth}`));
    socket.says(create(), create({ input: [{ role: "user", content: "more" }], previous_response_id: "r1" }));
    await pass(1);
    expect(asked[1]).toEqual({
      model: "tiny",
      store: false,
      stream: true,
      input: [
        { type: "message", role: "user", content: "hello" },
        { type: "message", role: "assistant", content: "answer" },
        { role: "user", content: "more" },
      ],
    });
  });

  it.each([
    ["a text behind nothing", {}, {}, [{ type: "message", role: "user", content: "hello" }]],
    ["a list behind a text", {}, { input: [1] }, [{ type: "message", role: "user", content: "hello" }, 1]],
    ["nothing behind a list", { input: [1, 2] }, { input: undefined }, [1, 2]],
    ["a list behind nothing", { input: undefined }, { input: [{ a: "é" }] }, [{ a: "é" }]],
    ["a text behind a list", { input: [1] }, {}, [1, { type: "message", role: "user", content: "hello" }]],
  ])("has %s as its items", async (_, first, second, items) => {
    const { socket, asked } = opened(async (_body, nth) =>
      stream({ type: "response.completed", response: { id: `r${nth}`, output: [] } }),
    );
    socket.says(create(first), create({ ...second, previous_response_id: "r1" }));
    socket.says(create({ input: [], previous_response_id: "r2" }));
    await pass(1);
    const second0 = Object.keys(first).length === 0 && Object.keys(second).length === 0;
    expect(asked[2]?.["input"]).toEqual(second0 ? [...items, ...items] : items);
  });

  it("that continues another response keeps its id only where an upstream may store it", async () => {
    const { socket, asked } = opened(async (_, nth) => completed(`r${nth}`));
    socket.says(create({ previous_response_id: "gone" }), create({ store: true, previous_response_id: "gone" }));
    await pass(1);
    expect({ asked: asked.map((body) => body["previous_response_id"]), told: socket.events[0] }).toMatchObject({
      asked: ["gone"],
      told: { type: "error", status: 400, error: { code: "previous_response_not_found" } },
    });
  });

  it("waits for those before it, of which there may be 16", async () => {
    const first = Promise.withResolvers<Response>();
    const { socket, asked } = opened(async (_, nth) => (nth === 1 ? await first.promise : completed(`r${nth}`)));
    socket.says(...Array.from({ length: LIMITS.realtimeResponses + 1 }, () => create()));
    await pass(1);
    const before = { asked: asked.length, told: socket.events };
    first.resolve(completed("r1"));
    await pass(1);
    expect({ ...before, after: asked.length }).toMatchObject({
      asked: 1,
      told: [{ error: { code: "realtime_backlog" } }],
      after: LIMITS.realtimeResponses,
    });
  });

  it.each([
    ["type", { type: "response.steer" }],
    ["stream_id", { stream_id: 1 }],
    ["generate", { generate: "no" }],
    ["background", { background: true }],
    ["input", { input: 1 }],
    ["response", { response: { model: "tiny" } }],
    ["Generate", { Generate: false }],
    ["Stream_id", { Stream_id: "lane" }],
    ["model", { generate: false, model: "m".repeat(201) }],
  ])("with a wrong %s is refused, and asks for nothing", async (param, more) => {
    const { socket, asked } = opened(async () => completed("r1"));
    socket.says(create(more));
    await pass(1);
    expect({ told: socket.events, asked }).toMatchObject({
      told: [{ type: "error", error: { code: "validation_failed", param } }],
      asked: [],
    });
  });

  it("gets an error when its answer cannot be read, and others are answered", async () => {
    const { socket } = opened(async (_, nth) => {
      if (nth === 1) throw new Error("secret words");
      return completed("r2");
    });
    socket.says(create(), create());
    await pass(1);
    expect(socket.events).toMatchObject([{ error: { code: "internal_error" } }, { type: "response.completed" }]);
    expect(socket.sent.join()).not.toContain("secret");
  });
});

describe("what is kept", () => {
  it("are the last 8 responses, none too large, and nothing after the end", async () => {
    const large = "x".repeat(LIMITS.responsesKept);
    const { socket, asked } = opened(async (_, nth) => completed(`r${nth}`, nth === 10 ? large : "answer"));
    const budget = world.memory.responseMemory;
    for (let nth = 1; nth <= 10; nth += 1) {
      socket.says(create());
      await pass(1);
    }
    const usedBytes = budget.usedBytes;
    socket.says(...["r1", "r10", "r3"].map((id) => create({ previous_response_id: id })));
    await pass(1);
    socket.ends();
    expect({ asked: asked.length, told: socket.count("error"), isUsed: usedBytes > 0, left: budget.usedBytes }).toEqual(
      {
        asked: 11,
        told: 2,
        isUsed: true,
        left: 0,
      },
    );
  });
});

describe("the events of a response", () => {
  it("that end without a last one are followed by an error, and those with an error by no other", async () => {
    const { socket } = opened(async (_, nth) =>
      nth === 1 ? stream({ type: "response.created" }) : stream({ type: "error", error: { code: "theirs" } }),
    );
    socket.says(create({ stream_id: "lane" }), create({ stream_id: "lane" }));
    await pass(1);
    expect(socket.events).toMatchObject([
      { stream_id: "lane", type: "response.created" },
      { stream_id: "lane", type: "error", error: { code: "upstream_stream_error" } },
      { stream_id: "lane", type: "error", error: { code: "theirs" } },
    ]);
  });

  it("are looked through in steps if they are long", async () => {
    const long = { type: "response.output_text.delta", delta: Array.from({ length: 5_000 }, () => "x".repeat(64)) };
    const { socket } = opened(async () => stream(long));
    const longest = watchPatterns();
    socket.says(create());
    await pass(1);
    const most = longest();
    expect(socket.events).toContainEqual(long);
    expect({ most, isBounded: most <= AT_ONCE_MAX }).toEqual({ most, isBounded: true });
  });

  it("are objects with members, also in a lane", async () => {
    const events = ["hello", "{}", ' { "type":"x"}', '{"type":"response.completed"}'];
    const { socket } = opened(
      async () =>
        new Response(events.map((event) => `data: ${event}\n\n`).join(""), {
          headers: { "content-type": "text/event-stream" },
        }),
    );
    socket.says(create({ stream_id: "lane" }));
    await pass(1);
    expect(socket.events).toEqual([
      { stream_id: "lane", type: "x" },
      { stream_id: "lane", type: "response.completed" },
    ]);
  });
});

describe("a connection", () => {
  it("ends after 600 s without a message, but not while a response runs", async () => {
    const answer = Promise.withResolvers<Response>();
    const { socket } = opened(async () => await answer.promise);
    socket.says(create());
    await pass(LIMITS.responsesSilence * 2);
    const before = socket.closed;
    answer.resolve(completed("r1"));
    await pass(LIMITS.responsesSilence - 5_000);
    const quiet = socket.closed;
    await pass(6_000);
    expect({ before, quiet, after: socket.closed }).toEqual({
      before: null,
      quiet: null,
      after: { code: 1001, reason: "realtime_session_idle" },
    });
  });

  it("ends 60 s after its upgrade without a whole message, and stays open with one", async () => {
    const [silent, other] = [opened(async () => completed("r1")), opened(async () => completed("r1"))];
    await pass(LIMITS.responsesFirstMessage - 5_000);
    other.socket.says("hello");
    const before = silent.socket.closed;
    await pass(6_000);
    expect({ before, silent: silent.socket.closed, other: other.socket.closed }).toEqual({
      before: null,
      silent: { code: 1001, reason: "realtime_session_idle" },
      other: null,
    });
  });

  it("of a client that leaves ends its requests, and one that is refused leaves that to them", async () => {
    const answer = Promise.withResolvers<Response>();
    const [left, refused] = [opened(async () => await answer.promise), opened(async () => await answer.promise)];
    for (const { socket } of [left, refused]) socket.says(create());
    await pass(1);
    left.socket.ends();
    refused.call.interruption.interrupt(new GatewayError("api_key_disabled"));
    await pass(1);
    expect({
      left: left.signals[0]?.aborted,
      refused: refused.signals[0]?.aborted,
      closed: refused.socket.closed,
    }).toEqual({ left: true, refused: false, closed: { code: 1008, reason: "api_key_disabled" } });
  });

  it("whose client leaves with the last event of a response lets that end by itself", async () => {
    const { socket, signals } = opened(async () => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const event = { type: "response.completed", response: { id: "r1", output: [] } };
      void writable.getWriter().write(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
      return new Response(readable, { headers: { "content-type": "text/event-stream" } });
    });
    socket.says(create());
    await pass(1);
    socket.ends();
    expect({ types: socket.types, aborted: signals[0]?.aborted }).toEqual({
      types: ["response.completed"],
      aborted: false,
    });
  });

  it("whose client does not read ends", async () => {
    const { socket } = opened(async () => completed("r1"));
    socket.bufferedAmount = LIMITS.realtimeBacklog + 1;
    socket.says(create());
    await pass(1);
    expect(socket.closed).toEqual({ code: 1013, reason: "realtime_backlog" });
  });
});
