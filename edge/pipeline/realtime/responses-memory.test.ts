/**
 * The memory for the WebSocket mode of Responses (docs/rules/realtime.md#responses-over-a-websocket).
 *
 * @module-tag check
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { HeldSocket } from "../../../test/harness/edge/pipeline/held-socket.ts";
import {
  completed,
  create,
  type NthAnswer,
  openResponses,
  passTime,
} from "../../../test/harness/edge/pipeline/responses-socket.ts";
import { SOCKETS, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";

let world: TestPipeline;

beforeEach(() => {
  vi.useFakeTimers();
  world = new TestPipeline();
});

const pass = async (ms: number) => await passTime(world, ms, async (due) => await vi.advanceTimersByTimeAsync(due));
const opened = (answer: NthAnswer, tenantId = "tenant") => openResponses(world, answer, tenantId);

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

  it("counts what its requests continue, and is free after them", async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const { socket, asked } = opened(async (_, nth) =>
      nth < 4 ? await promise.then((one) => one.clone()) : completed("r"),
    );
    const items = LIMITS.tenantResponsesMemory / 4;
    socket.says(create({ generate: false, input: "x".repeat(items) }));
    await pass(1);
    const { id } = (socket.events[0] as { readonly response: { readonly id: string } }).response;
    for (const lane of ["a", "b", "c", "d"]) socket.says(create({ previous_response_id: id, stream_id: lane }));
    await pass(1);
    const { usedBytes } = world.memory.responseMemory;
    resolve(completed("r"));
    await pass(1);
    socket.ends();
    expect({
      asked: asked.length,
      isCounted: usedBytes > 3 * items,
      codes: socket.events.flatMap(({ error }) => (error as { readonly code?: string } | undefined)?.code ?? []),
      left: world.memory.responseMemory.usedBytes,
    }).toEqual({ asked: 3, isCounted: true, codes: ["previous_response_not_found"], left: 0 });
  });

  it("is that of the tenant also after its last connection has ended before a request", async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const large = create({ input: "x".repeat(LIMITS.realtimeMessage - 1_000) });
    const [first, tell] = [opened(async () => await promise), () => opened(async () => completed("r")).socket];
    first.socket.says(large);
    await pass(1);
    first.socket.ends();
    const during = tell();
    during.says(large);
    await pass(1);
    during.ends();
    resolve(completed("r"));
    await pass(1);
    const after = tell();
    after.says(large);
    await pass(1);
    expect({ during: during.types, after: after.types }).toEqual({ during: ["error"], after: ["response.completed"] });
  });

  it("counts a message that is longer as JSON than it came", async () => {
    const { promise } = Promise.withResolvers<Response>();
    const { socket } = opened(async () => await promise);
    socket.says(`{"type":"response.create","input":[${"1e20,".repeat(100_000)}1]}`);
    await pass(1);
    expect(world.memory.responseMemory.usedBytes).toBeGreaterThan(2_000_000);
  });

  it("is free after a request whose answer throws, and the next of its lane is answered", async () => {
    const { socket } = opened(async (_, nth) => {
      if (nth === 1) throw new Error("broken");
      return completed("r");
    });
    socket.says(create({ stream_id: "lane", store: true }), create({ stream_id: "lane", store: true }));
    await pass(1);
    expect({ types: socket.types, left: world.memory.responseMemory.usedBytes }).toEqual({
      types: ["error", "response.completed"],
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
    const sockets = Array.from({ length: 4 }, () => opened(async () => completed("r")).socket);
    for (const socket of sockets) {
      socket.bufferedAmount = LIMITS.realtimeBacklog;
      socket.says(create());
      await pass(1);
    }
    const { socket: last } = opened(async () => completed("r"));
    last.send = () => {
      last.bufferedAmount = 1;
    };
    last.says(create());
    await pass(1);
    const before = sockets[0]?.closed;
    sockets[0]?.says(create());
    await pass(1);
    expect({ before, after: sockets[0]?.closed, reads: last.closed }).toEqual({
      before: null,
      after: { code: 1013, reason: "realtime_backlog" },
      reads: null,
    });
  });

  it("that its clients have read by now ends none", async () => {
    const sockets = Array.from({ length: 5 }, () => opened(async () => completed("r")).socket);
    const [first, ...others] = sockets;
    for (const socket of others) {
      socket.bufferedAmount = LIMITS.realtimeBacklog;
      socket.says(create());
      await pass(1);
      socket.bufferedAmount = 0;
    }
    await pass(1_000);
    if (first !== undefined) first.bufferedAmount = 1;
    first?.says(create(), create());
    await pass(1);
    expect({ closed: first?.closed, types: first?.types }).toEqual({
      closed: null,
      types: ["response.completed", "response.completed"],
    });
  });

  it("takes one large event that is not read, and others only once that is", async () => {
    const large = "x".repeat(LIMITS.tenantResponsesMemory * 0.75);
    const sockets = Array.from({ length: 3 }, () => opened(async () => completed("r", large)).socket);
    for (const socket of sockets)
      socket.send = (message) => {
        socket.sent.push(message);
        socket.bufferedAmount += message.length;
      };
    const [first, second, third] = sockets;
    first?.says(create({ store: true }));
    await pass(1);
    second?.says(create({ store: true }));
    await pass(1);
    if (first !== undefined) first.bufferedAmount = 0;
    await pass(1_000);
    third?.says(create({ store: true }));
    await pass(1);
    expect(sockets.map(({ types, closed }) => ({ types, code: closed?.reason }))).toEqual([
      { types: ["response.completed"], code: undefined },
      { types: ["error"], code: undefined },
      { types: ["response.completed"], code: undefined },
    ]);
  });

  it("counts what an ended connection has not read until that is cut off", async () => {
    const { socket, call } = opened(async () => completed("r"));
    const cutOff = vi.fn();
    Object.assign(call, { cutOff });
    socket.bufferedAmount = LIMITS.realtimeBacklog + 1;
    socket.says(create());
    await pass(1);
    const unreadOf = () =>
      world.memory.responseMemory.join("tenant", new HeldSocket() as unknown as WebSocket, 1)?.unreadBytes;
    const [ended, after] = [unreadOf(), await pass(6_000).then(unreadOf)];
    expect({ closed: socket.closed?.reason, ended, after, cuts: cutOff.mock.calls.length }).toEqual({
      closed: "realtime_backlog",
      ended: LIMITS.realtimeBacklog + 1,
      after: 0,
      cuts: 1,
    });
  });

  it("comes back by time alone from connections that end without notice", async () => {
    const { promise } = Promise.withResolvers<Response>();
    const { socket } = opened(async () => await promise, "lost");
    socket.says(create({ input: "x".repeat(LIMITS.tenantResponsesMemory / 2) }));
    await pass(1);
    const { responseMemory } = world.memory;
    const join = () => responseMemory.join("lost", new HeldSocket() as unknown as WebSocket, 1_000);
    for (let nth = 1; nth < SOCKETS; nth += 1) join();
    const before = { isFull: join() === null, isUsed: responseMemory.usedBytes > 0 };
    world.nowMs += 3_600_000 + 60_000 + 1;
    const after = { isFull: join() === null, isUsed: responseMemory.usedBytes > 0 };
    expect({ before, after }).toEqual({
      before: { isFull: true, isUsed: true },
      after: { isFull: false, isUsed: false },
    });
  });

  it("comes back by time alone for a request of another connection", async () => {
    const { promise } = Promise.withResolvers<Response>();
    const large = create({ input: "x".repeat(LIMITS.tenantResponsesMemory * 0.6) });
    opened(async () => await promise).socket.says(large);
    await pass(3_601_000);
    const { socket } = opened(async () => completed("r"));
    socket.says(large);
    await pass(60_000);
    socket.says(large);
    await pass(1);
    expect(socket.types).toEqual(["error", "response.completed"]);
  });

  it.each(["an error", "a close"])("is at once free of connections that break off with %s", async (how) => {
    const turn = Promise.withResolvers<void>();
    world.sleep = async () => await turn.promise;
    const sockets = Array.from({ length: SOCKETS }, () => opened(async () => completed("r")).socket);
    sockets[0]?.says(create({ input: "x".repeat(LIMITS.tenantResponsesMemory / 2) }));
    await pass(1);
    for (const socket of sockets) {
      // the runtime still has bytes that nobody will read
      socket.bufferedAmount = 1;
      if (how === "an error") socket.breaksOff();
      else socket.ends(1006);
    }
    expect({
      left: world.memory.responseMemory.usedBytes,
      isOpen: opened(async () => completed("r")).socket.closed,
    }).toEqual({ left: 0, isOpen: null });
  });

  it("counts an event that does not end, and is free when its request ends", async () => {
    const bodies: WritableStreamDefaultWriter<Uint8Array>[] = [];
    const { socket } = opened(async () => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      bodies.push(writable.getWriter());
      return new Response(readable, { headers: { "content-type": "text/event-stream" } });
    });
    for (const lane of ["a", "b", "c"]) socket.says(create({ stream_id: lane }));
    await pass(1);
    const piece = new Uint8Array(LIMITS.tenantResponsesMemory / 2 - 1_000).fill(97);
    for (const body of bodies) void body.write(piece).catch(() => undefined);
    await pass(1);
    const heldBytes = () =>
      world.memory.responseMemory.join("tenant", new HeldSocket() as unknown as WebSocket, 1)?.unreadBytes;
    const during = { told: socket.events, heldBytes: heldBytes() };
    for (const body of bodies) void body.close().catch(() => undefined);
    await pass(1);
    expect({ during, after: { heldBytes: heldBytes(), closed: socket.closed } }).toMatchObject({
      during: {
        told: [{ type: "error", stream_id: "c", error: { code: "realtime_backlog" } }],
        heldBytes: 2 * piece.byteLength,
      },
      after: { heldBytes: 0, closed: null },
    });
  });

  it("has as many connections as its operator allows, and other tenants have theirs", () => {
    const join = (tenantId: string) =>
      world.memory.responseMemory.join(tenantId, new HeldSocket() as unknown as WebSocket, 1) !== null;
    const joined = Array.from({ length: SOCKETS }, () => join("a"));
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
