/** The messages of one side of a realtime session, as they wait. */
import { expect, it } from "vitest";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { MessageRate } from "../../domain/realtime/message-rate.ts";
import { MessageQueue } from "./message-queue.ts";

/** A queue whose first message is handled for ever, and whose messages come slowly. */
function blocked() {
  const failures: unknown[] = [];
  let nowMs = 0;
  const clock = (): number => (nowMs += 1_000);
  const { promise } = Promise.withResolvers<void>();
  const handling = { handle: async () => await promise, failed: (error: unknown) => void failures.push(error) };
  const queue = new MessageQueue(new MessageRate(1), { clock, sleep: async () => undefined }, handling);
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
  const ports = { clock: () => 0, sleep: async () => undefined };
  const queue = new MessageQueue(new MessageRate(100), ports, { handle, failed: done.reject });
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
