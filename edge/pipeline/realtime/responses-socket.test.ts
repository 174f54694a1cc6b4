/** The WebSocket mode of Responses on a connection that a test holds (docs/rules/realtime.md#responses-over-a-websocket). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { HeldSocket } from "../../../test/harness/edge/pipeline/held-socket.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { ResponsesSocket } from "./responses-socket.ts";

type Body = Readonly<Record<string, unknown>>;

let world: TestPipeline;

beforeEach(() => {
  vi.useFakeTimers();
  world = new TestPipeline();
});

async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    world.nowMs += Math.min(left, 1_000);
    await vi.advanceTimersByTimeAsync(Math.min(left, 1_000));
  }
}

const stream = (...events: readonly object[]): Response =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });

/** A response with an id of its own, whose output has this text. */
const completed = (id: string, text = "answer") =>
  stream({
    type: "response.completed",
    response: {
      id,
      output: [
        { type: "reasoning", summary: [] },
        { type: "message", role: "assistant", content: text },
      ],
    },
  });

function opened(answer: (body: Body, nth: number) => Promise<Response>, tenantId = "tenant") {
  const socket = new HeldSocket();
  const asked: Body[] = [];
  const signals: AbortSignal[] = [];
  const call = world.call({ method: "GET", body: null }, "/v1/responses");
  const ask = async (body: Uint8Array, signal: AbortSignal): Promise<Response> => {
    asked.push(JSON.parse(new TextDecoder().decode(body)) as Body);
    signals.push(signal);
    return await answer(asked.at(-1) ?? {}, asked.length);
  };
  const client = socket as unknown as WebSocket;
  const share = world.memory.responseMemory.join(tenantId, client);
  if (share === null) throw new Error("too many connections");
  new ResponsesSocket(call, client, share, ask).start();
  return { socket, asked, signals, call };
}

const create = (more: Body = {}) => ({ type: "response.create", model: "tiny", store: false, input: "hello", ...more });

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

describe("the memory of a tenant", () => {
  it("that keeps all it may leaves others theirs, and goes when they need it", async () => {
    const large = "x".repeat(LIMITS.responsesKept / 2 - 1_000);
    const keeping = async (tenantId: string) => {
      const sockets = Array.from({ length: 4 }, () => opened(async () => completed("r"), tenantId).socket);
      for (const socket of sockets) {
        socket.says(create({ generate: false, input: large }));
        await pass(1);
      }
      return sockets;
    };
    const greedy = await keeping("greedy");
    const keptBytes = world.memory.responseMemory.usedBytes;
    const third = await keeping("third");
    const { socket, asked } = opened(async () => completed("r"), "other");
    socket.says(create({ input: "x".repeat(LIMITS.realtimeMessage - 1_000) }));
    await pass(1);
    for (const one of greedy) one.ends();
    const thirdsBytes = world.memory.responseMemory.usedBytes;
    for (const one of [...third, socket]) one.ends();
    expect({
      isShare: keptBytes > LIMITS.responsesKept && keptBytes <= LIMITS.tenantResponsesMemory,
      asked: asked.length,
      hasThirds: thirdsBytes > large.length,
      left: world.memory.responseMemory.usedBytes,
    }).toEqual({ isShare: true, asked: 1, hasThirds: true, left: 0 });
  });

  it("is free when its client leaves while the last event is read", async () => {
    const { socket } = opened(async () => completed("r", "x".repeat(LIMITS.responsesKept / 2)));
    const turn = Promise.withResolvers<void>();
    world.sleep = async () => await turn.promise;
    socket.says(create());
    await pass(1);
    const types = socket.types;
    socket.ends();
    turn.resolve();
    await pass(1);
    expect({ types, left: world.memory.responseMemory.usedBytes }).toEqual({ types: [], left: 0 });
  });

  it("counts what is received and not begun, and is free when its client leaves", async () => {
    const turn = Promise.withResolvers<void>();
    world.sleep = async () => await turn.promise;
    const large = create({ input: "x".repeat(LIMITS.tenantResponsesMemory / 2) });
    const sockets = Array.from({ length: 2 }, () => opened(async () => completed("r")).socket);
    for (const socket of sockets) socket.says(large);
    await pass(1);
    const told = sockets.map(({ events }) => events);
    for (const socket of sockets) socket.ends();
    turn.resolve();
    await pass(1);
    expect({ told, left: world.memory.responseMemory.usedBytes }).toMatchObject({
      told: [[], [{ type: "error", error: { code: "realtime_backlog" } }]],
      left: 0,
    });
  });

  it("leaves small requests of others theirs while two tenants keep all of it waiting", async () => {
    const { promise } = Promise.withResolvers<Response>();
    const large = create({ input: "x".repeat(LIMITS.realtimeMessage - 1_000) });
    for (const tenantId of ["first", "second"]) opened(async () => await promise, tenantId).socket.says(large);
    const { socket, asked } = opened(async () => completed("r"), "other");
    socket.says(create({ store: true, input: "x".repeat(10_000) }));
    await pass(1);
    expect({
      isFull: world.memory.responseMemory.usedBytes > LIMITS.responsesMemory - 4_000,
      asked: asked.length,
    }).toEqual({
      isFull: true,
      asked: 1,
    });
  });

  it("that its clients leave unread ends those that do not read", async () => {
    const sockets = Array.from({ length: 5 }, () => opened(async () => completed("r")).socket);
    const [first, ...others] = sockets;
    for (const socket of others) socket.bufferedAmount = LIMITS.realtimeBacklog;
    others[0]?.says(create());
    first?.says(create());
    await pass(1);
    const before = others[0]?.closed;
    if (first !== undefined) first.bufferedAmount = 1;
    others[0]?.says(create());
    await pass(1);
    expect({ before, after: others[0]?.closed, reads: first?.closed }).toEqual({
      before: null,
      after: { code: 1013, reason: "realtime_backlog" },
      reads: null,
    });
  });

  it("has 128 connections, and those of others besides", () => {
    const join = (tenantId: string) =>
      world.memory.responseMemory.join(tenantId, new HeldSocket() as unknown as WebSocket) !== null;
    const joined = Array.from({ length: LIMITS.tenantResponsesSockets }, () => join("a"));
    expect({ all: joined.every(Boolean), more: join("a"), other: join("b") }).toEqual({
      all: true,
      more: false,
      other: true,
    });
  });

  it("is written to in turns for a message of many items, as that is read", async () => {
    const { socket } = opened(async () => completed("r"));
    const waitsFor = async (generate: "0" | "false"): Promise<number> => {
      const before = world.waits.length;
      socket.says(`{"type":"response.create","generate":${generate},"input":[${"1,".repeat(300_000)}1]}`);
      await pass(1);
      return world.waits.length - before;
    };
    const [whenRefused, whenKept] = [await waitsFor("0"), await waitsFor("false")];
    expect({ types: socket.types, hasMore: whenKept > whenRefused }).toEqual({
      types: ["error", "response.created", "response.completed"],
      hasMore: true,
    });
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
