/** A realtime session between two connections: what ends it without a close, and what its messages wait for. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { openSession } from "../../../test/harness/edge/pipeline/realtime-session.ts";
import { TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";

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

const opened = async () => await openSession(world);

describe("a session without messages", () => {
  it("ends after 120 s, and any message of either side starts them again", async () => {
    const { client, upstream } = await opened();
    await pass(LIMITS.realtimeSilence - 5_000);
    upstream.says({ type: "session.updated" });
    await pass(LIMITS.realtimeSilence - 5_000);
    client.says({ type: "input_audio_buffer.clear" });
    await pass(LIMITS.realtimeSilence - 5_000);
    const before = client.closed;
    await pass(6_000);
    expect({ before, client: client.closed, upstream: upstream.closed, types: client.types }).toEqual({
      before: null,
      client: { code: 1001, reason: "realtime_session_idle" },
      upstream: { code: 1000, reason: "" },
      types: ["session.updated", "error"],
    });
    expect(world.permit.settlement?.row).toMatchObject({
      status_code: 101,
      error_code: "realtime_session_idle",
      total_tokens: 0,
    });
  });
});

describe("a message", () => {
  it("that is too long ends the session, and goes nowhere", async () => {
    const { client, upstream } = await opened();
    client.says("x".repeat(LIMITS.realtimeMessage + 1));
    await pass(1);
    expect({ closed: client.closed, sent: upstream.sent }).toEqual({
      closed: { code: 1009, reason: "request_too_large" },
      sent: [],
    });
  });

  it("ends the session when the other side has not taken what was sent before", async () => {
    const { client, upstream } = await opened();
    upstream.bufferedAmount = LIMITS.realtimeBacklog + 1;
    client.says({ type: "input_audio_buffer.clear" });
    await pass(1);
    expect(client.closed).toEqual({ code: 1013, reason: "realtime_backlog" });
  });

  it("that is no event ends the session of a client that does not read", async () => {
    const { client } = await opened();
    client.bufferedAmount = LIMITS.realtimeBacklog + 1;
    client.says("{");
    await pass(1);
    expect({ closed: client.closed, types: client.types }).toEqual({
      closed: { code: 1013, reason: "realtime_backlog" },
      types: ["error"],
    });
  });

  it.each([
    ["client", 500],
    ["upstream", 5_000],
  ] as const)("of the %s that comes too soon ends the session, and one a second later does not", async (name, most) => {
    const sockets = await opened();
    const flood = (count: number): void => {
      for (let nth = 0; nth < count; nth += 1) sockets[name].says({ type: "input_audio_buffer.clear" });
    };
    flood(most);
    await pass(1_000);
    flood(most / 5);
    const before = sockets.client.closed;
    flood(1);
    const closed = { code: 1013, reason: "realtime_backlog" };
    expect({ before, after: sockets.client.closed }).toEqual({ before: null, after: closed });
  });

  it("of a side lets other work run after each eight", async () => {
    const { client, upstream } = await opened();
    const turn = Promise.withResolvers<void>();
    world.sleep = async () => await turn.promise;
    for (let nth = 0; nth < 20; nth += 1) client.says({ type: "input_audio_buffer.clear" });
    await pass(1);
    const before = upstream.sent.length;
    turn.resolve();
    await pass(1);
    expect({ before, after: upstream.sent.length }).toEqual({ before: 8, after: 20 });
  });

  it("of a client stays behind one that waits for its budgets", async () => {
    const { client, upstream } = await opened();
    const decided = Promise.withResolvers<TestPermit>();
    world.subCallPermit = async () => await decided.promise;
    client.says({ type: "response.create" });
    client.says({ type: "input_audio_buffer.clear" });
    await pass(10);
    const before = upstream.types;
    decided.resolve(new TestPermit());
    await pass(10);
    expect({ before, after: upstream.types }).toEqual({
      before: [],
      after: ["response.create", "input_audio_buffer.clear"],
    });
  });

  it("of a client that closes after it is handled before the end", async () => {
    const { client, upstream } = await opened();
    const decided = Promise.withResolvers<TestPermit>();
    world.subCallPermit = async () => await decided.promise;
    client.says({ type: "response.create" });
    client.says({ type: "input_audio_buffer.clear" });
    client.ends(1000);
    decided.resolve(new TestPermit());
    await pass(10);
    expect({ sent: upstream.types, closed: upstream.closed }).toEqual({
      sent: ["response.create", "input_audio_buffer.clear"],
      closed: { code: 1000, reason: "" },
    });
  });

  it.each([
    [1000, 1000],
    [1006, 1011],
  ])("of an upstream that ends with %i after it is handled, and billed, before the end", async (code, closedWith) => {
    const { client, upstream } = await opened();
    const permit = new TestPermit();
    world.subCallPermit = async () => permit;
    const response = { id: "resp_1", status: "completed", usage: { input_tokens: 20, output_tokens: 10 } };
    upstream.says({ type: "response.created", response: { id: "resp_1" } });
    upstream.says({ type: "response.done", response });
    upstream.ends(code);
    await pass(10);
    expect({ types: client.types.slice(0, 2), code: client.closed?.code }).toEqual({
      types: ["response.created", "response.done"],
      code: closedWith,
    });
    expect(permit.settlement?.row).toMatchObject({ status_code: 200, total_tokens: 30 });
  });
});
