/** Parts of the stack that are paused and killed while calls run. */
import { setTimeout as pause } from "node:timers/promises";
import type { Stack } from "../../infra/local/stack.ts";
import type { Gateway } from "../harness/gateway.ts";
import type { KillableStore } from "../harness/killable-store.ts";
import { startedAgain } from "../harness/started-again.ts";
import type { Bench, FaultCost } from "./bench.ts";
import type { Dice } from "./dice.ts";

export interface Parts {
  readonly stack: Stack;
  readonly store: KillableStore;
  readonly gateway: Gateway;
}

/** Calls run before a part goes away, for as long that some have what lives for seconds in the gateway. */
const FIRST_MS = { least: 500, most: 4000 };
const RUNS_MS = 5;
const RESTS_MS = 95;

async function stop(stack: Stack, part: string, ms: number): Promise<void> {
  const pid = stack.parts.get(part)?.pid ?? 0;
  process.kill(pid, "SIGSTOP");
  try {
    await pause(ms);
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

/** Lets it have a twentieth of a core. */
async function slow(stack: Stack, part: string, ms: number): Promise<void> {
  for (const untilMs = Date.now() + ms; Date.now() < untilMs; await pause(RUNS_MS)) await stop(stack, part, RESTS_MS);
}

/** A part that is started more often than this within a minute is given up, and a start comes some time after its kill. */
const KILLS = { most: 5, withinMs: 70_000 } as const;
const killedAtMs = new Map<string, readonly number[]>();

/** Resolves when the part may be killed once more. */
async function mayBeKilled(part: string): Promise<void> {
  const before = killedAtMs.get(part) ?? [];
  const first = before.at(-KILLS.most);
  if (first !== undefined) await pause(Math.max(0, first + KILLS.withinMs - performance.now()));
  killedAtMs.set(part, [...before, performance.now()]);
}

async function kill(stack: Stack, part: string): Promise<void> {
  const pid = stack.parts.get(part)?.pid ?? 0;
  process.kill(pid, "SIGKILL");
  await startedAgain(stack.parts.get(part), pid);
}

interface Fault {
  readonly name: string;
  /** Resolves when the part is back. */
  run(): Promise<void>;
}

/** Something that happens to a part during a round. `objects`: the process with the Durable Objects is killed. */
export function randomFault(
  dice: Dice,
  { stack, store, gateway }: Parts,
  bench: Bench,
  kind: "pause" | "kill" | "objects",
): Fault {
  const workers = [...stack.parts.keys()].filter((name) => name.startsWith("worker-"));
  const part = {
    pause: dice.pick(["workerd", ...workers]),
    kill: dice.pick([...workers, "control", "key-value store"]),
    objects: "workerd",
  }[kind];
  const firstMs = dice.between(FIRST_MS.least, FIRST_MS.most);
  const [ms, isSlow] = [dice.between(1000, 3500), dice.once(3)];
  const [cost, happens]: readonly [FaultCost, () => Promise<void>] = (() => {
    if (kind === "pause") return ["refusals", async () => await (isSlow ? slow : stop)(stack, part, ms)];
    if (part === "control") return ["nothing", async () => await kill(stack, part)];
    // the process of the objects alone: the Worker processes hand in what they served
    if (kind === "objects" && workers.length > 0) return ["refusals", async () => await kill(stack, part)];
    if (part !== "key-value store") return ["rows", async () => await kill(stack, part)];
    return [
      "refusals",
      async () => {
        await store.crash();
        await gateway.must("POST", "/resync");
      },
    ];
  })();
  const name = kind === "pause" ? `${isSlow ? "slowness" : "pause"} of ${part} for ${ms} ms` : `kill of ${part}`;
  return {
    name,
    run: async () => {
      await pause(firstMs);
      if (kind !== "pause") await mayBeKilled(part);
      await bench.during(name, cost, happens);
    },
  };
}
