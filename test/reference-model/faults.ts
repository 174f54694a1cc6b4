/** Parts of the stack that are paused and killed while calls run. */
import { setTimeout as pause } from "node:timers/promises";
import type { Stack } from "../../infra/local/stack.ts";
import type { Gateway } from "../harness/gateway.ts";
import type { KillableStore } from "../harness/killable-store.ts";
import { startedAgain } from "../harness/started-again.ts";
import type { Bench } from "./bench.ts";
import type { Dice } from "./dice.ts";

export interface Parts {
  readonly stack: Stack;
  readonly store: KillableStore;
  readonly gateway: Gateway;
}

/** Calls run before a part goes away. */
const FIRST_MS = 400;

async function stop(stack: Stack, part: string, ms: number): Promise<void> {
  const pid = stack.parts.get(part)?.pid ?? 0;
  process.kill(pid, "SIGSTOP");
  try {
    await pause(ms);
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

async function kill(stack: Stack, part: string): Promise<void> {
  const pid = stack.parts.get(part)?.pid ?? 0;
  process.kill(pid, "SIGKILL");
  await startedAgain(stack.parts.get(part), pid);
}

/** Something that happens to a part during a round, and then is over. */
export function randomFault(
  dice: Dice,
  { stack, store, gateway }: Parts,
  bench: Bench,
  kind: "pause" | "kill",
): { readonly name: string; readonly run: () => Promise<void> } {
  const processes = [...stack.parts.keys()].filter((name) => name === "workerd" || name.startsWith("worker-"));
  if (kind === "pause") {
    const [part, ms] = [dice.pick(processes), dice.between(1000, 3500)];
    return {
      name: `pause of ${part} for ${ms} ms`,
      run: async () => {
        await pause(FIRST_MS);
        await bench.during(`pause of ${part}`, "pause", async () => await stop(stack, part, ms));
      },
    };
  }
  const part = dice.pick([...processes, "control", "key-value store"]);
  const killed = async (): Promise<void> => {
    await pause(FIRST_MS);
    if (part === "key-value store")
      await bench.during(part, "refusals", async () => {
        await store.crash();
        await gateway.must("POST", "/resync");
      });
    else
      await bench.during(
        part,
        part === "control" ? "pause" : part === "workerd" ? "refusals" : "rows",
        async () => await kill(stack, part),
      );
  };
  return { name: `kill of ${part}`, run: killed };
}
