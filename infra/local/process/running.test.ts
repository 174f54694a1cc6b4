import { expect, it } from "vitest";
import { startRunning, type Undo } from "./running.ts";

const watch = { log: () => undefined };

it("undoes what was started when a start is unwanted, also what it starts after that", async () => {
  const unwanted = new AbortController();
  const undone: string[] = [];
  const held = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  let isAbandoned = false;
  const starting = startRunning(
    async ({ undo, abandoned }) => {
      abandoned.addEventListener("abort", () => (isAbandoned = true));
      undo.add(() => void undone.push("first"));
      undo.add(() => void undone.push("second"));
      await held.promise;
      undo.add(() => void undone.push("late"));
      late.resolve();
      return {};
    },
    { ...watch, unwanted: unwanted.signal },
  );
  unwanted.abort();
  await expect(starting).rejects.toThrow("the start was given up");
  expect({ isAbandoned, undone: undone.join() }).toEqual({ isAbandoned: true, undone: "second,first" });
  held.resolve();
  await late.promise;
  expect(undone.at(-1)).toBe("late");
});

it("names the part that gives up during a start, and stops what runs after it only when asked", async () => {
  const failing = startRunning(async ({ onGiveUp }) => {
    onGiveUp("workerd", "ended with code 1");
    return await new Promise<never>(() => undefined);
  }, watch);
  await expect(failing).rejects.toThrow("workerd ended with code 1");
  const unwanted = new AbortController();
  let list: Undo | undefined;
  const running = await startRunning(
    async ({ undo }) => {
      list = undo;
      return { answer: 7 };
    },
    { ...watch, unwanted: unwanted.signal },
  );
  let isUndone = false;
  list?.add(() => {
    isUndone = true;
  });
  unwanted.abort();
  expect({ answer: running.answer, isUndone }).toEqual({ answer: 7, isUndone: false });
  await running.stop();
  expect({ closed: await running.closed, isUndone }).toEqual({ closed: null, isUndone: true });
});
