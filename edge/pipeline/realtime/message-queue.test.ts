/** The messages of one side of a realtime session, as they wait. */
import { expect, it } from "vitest";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { MessageRate } from "../../domain/realtime/message-rate.ts";
import type { Call } from "../call/context.ts";
import { MessageQueue } from "./message-queue.ts";

/** The call of a session with this clock, whose work is given to `waitUntil`. */
const callWith = (clock: () => number, waitUntil: (work: unknown) => void = () => undefined) =>
  ({ ports: { clock, sleep: async () => undefined }, waitUntil }) as unknown as Call;

/** A queue whose first message is handled for ever, and whose messages come slowly. */
function blocked() {
  const failures: unknown[] = [];
  let nowMs = 0;
  const clock = (): number => (nowMs += 1_000);
  const { promise } = Promise.withResolvers<void>();
  const handling = { handle: async () => await promise, failed: (error: unknown) => void failures.push(error) };
  const queue = new MessageQueue(new MessageRate(1), callWith(clock), handling);
  return { queue, failures };
}

it("a queue is full of empty messages after 16,385", () => {
  const { queue, failures } = blocked();
  for (let nth = 0; nth < LIMITS.realtimeBacklog / 256 + 1; nth += 1) queue.push("");
  const before = failures.length;
  queue.push("");
  expect({ before, after: failures }).toMatchObject({ before: 0, after: [{ code: "realtime_backlog" }] });
});

it("a queue handles messages in their order, also those that come meanwhile", async () => {
  const handled: string[] = [];
  const done = Promise.withResolvers<void>();
  const turn = Promise.withResolvers<void>();
  const handle = async (message: unknown): Promise<void> => {
    handled.push(String(message));
    if (handled.length === 1) await turn.promise;
  };
  const call = callWith(() => 0);
  const queue = new MessageQueue(new MessageRate(100), call, { handle, failed: done.reject });
  for (const message of ["a", "b", "c"]) queue.push(message);
  turn.resolve();
  await turn.promise;
  for (const message of ["d", "e"]) queue.push(message);
  queue.end(done.resolve);
  await done.promise;
  expect(handled).toEqual(["a", "b", "c", "d", "e"]);
});

it("a message is as long as its bytes", () => {
  const { queue, failures } = blocked();
  queue.push("長".repeat(LIMITS.realtimeMessage / 3 + 1));
  queue.push("é".repeat(LIMITS.realtimeBacklog / 2 - 128));
  queue.push("");
  const before = failures.map((failure) => (failure as { readonly code: string }).code);
  queue.push("");
  expect({ before, after: failures }).toMatchObject({
    before: ["request_too_large"],
    after: [{}, { code: "realtime_backlog" }],
  });
});

it("a message whose handling never ends gives its memory back when the queue is cleared", () => {
  const closed: string[] = [];
  const kept: unknown[] = [];
  const queue = new MessageQueue(
    new MessageRate(100),
    callWith(
      () => 0,
      (work) => void kept.push(work),
    ),
    {
      handle: async () => await Promise.withResolvers<void>().promise,
      failed: () => undefined,
      reserve: (bytes) => ({ cover: () => true, close: () => void closed.push(`${bytes - 256} bytes`) }),
    },
  );
  for (const message of ["a", "bc"]) queue.push(message);
  queue.clear();
  expect({ closed, isKeptAlive: kept.length }).toEqual({ closed: ["1 bytes", "2 bytes"], isKeptAlive: 1 });
});
