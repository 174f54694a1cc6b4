import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterAll, expect, it } from "vitest";
import { type ChildSpec, jsonLine, startChild, startGuard } from "./child.ts";
import { type RestartPolicy, supervise } from "./supervisor.ts";

const guard = startGuard();
afterAll(() => guard.close());

/** A child that runs `script` in Node and is ready with its first line of JSON. */
const spec = (script: string, log: string[] = []): ChildSpec => ({
  name: "part",
  command: process.execPath,
  args: ["-e", script],
  env: {},
  readyFrom: "stdout",
  readReady: jsonLine,
  log: (line) => void log.push(line),
});
const READY = "console.log(JSON.stringify({ pid: process.pid })); setInterval(() => {}, 1000);";

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

it("is ready when its ready line comes, and logs the other lines", async () => {
  const log: string[] = [];
  const child = await startChild(spec(`console.log("hello"); console.error("oh"); ${READY}`, log), guard);
  expect(await child.ready).toEqual({ pid: child.pid });
  await expect.poll(() => log.toSorted()).toEqual(["hello", "oh"]);
  await child.stop(5_000);
  expect(await child.exited).toMatch(/^was ended by SIGTERM/);
});

it("reports the last line of a child that ends before it is ready", async () => {
  const child = await startChild(spec('console.error("GATEWAY_X must be a number"); process.exitCode = 1;'), guard);
  await expect(child.ready).rejects.toThrow("GATEWAY_X must be a number");
  await expect(startChild({ ...spec(""), command: "/nowhere/at/all" }, guard)).rejects.toThrow(
    "part cannot be started",
  );
  const silent = await startChild(spec("setInterval(() => {}, 1000)"), guard, 10);
  await expect(silent.ready).rejects.toThrow("part was not ready after");
  await silent.stop(0);
});

it("kills a child that ignores SIGTERM after the grace", { tags: ["check"] }, async () => {
  const child = await startChild(spec(`process.on("SIGTERM", () => {}); ${READY}`), guard);
  await child.ready;
  await child.stop(50);
  expect(await child.exited).toMatch(/^was ended by SIGKILL/);
});

it("leaves no child behind when the launcher is killed", { tags: ["check"] }, async () => {
  const launcher: ChildProcess = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { startChild, startGuard, jsonLine } from ${JSON.stringify(new URL("child.ts", import.meta.url).href)};
       const spec = { name: "c", command: process.execPath, args: ["-e", ${JSON.stringify(READY)}], env: {}, readyFrom: "stdout", readReady: jsonLine, log() {} };
       const guard = startGuard();
       const children = [await startChild(spec, guard), await startChild(spec, guard)];
       await Promise.all(children.map((child) => child.ready));
       console.log(JSON.stringify(children.map((child) => child.pid)));
       setInterval(() => {}, 1000);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const [line] = (await once(createInterface({ input: launcher.stdout as Readable }), "line")) as [string];
  const pids = JSON.parse(line) as number[];
  expect(pids.map(isAlive)).toEqual([true, true]);
  launcher.kill("SIGKILL");
  await expect.poll(() => pids.map(isAlive), { timeout: 10_000 }).toEqual([false, false]);
});

const policy: RestartPolicy = { restarts: 2, withinMs: 60_000, firstPauseMs: 1 };
const running = async () => {
  const child = await startChild(spec(READY), guard);
  await child.ready;
  return child;
};

it("starts a part again when it dies, and gives up when that does not help", { tags: ["check"] }, async () => {
  const reasons: string[] = [];
  const part = await supervise({
    name: "part",
    start: running,
    onGiveUp: (reason) => void reasons.push(reason),
    log: () => undefined,
    policy,
  });
  for (let death = 1; death <= 2; death += 1) {
    const pid = part.pid as number;
    process.kill(pid, "SIGKILL");
    await expect.poll(() => part.pid !== null && part.pid !== pid).toBe(true);
    await part.ready();
  }
  process.kill(part.pid as number, "SIGKILL");
  await expect.poll(() => reasons).toEqual([expect.stringMatching(/^was ended by SIGKILL/)]);
  await expect(part.ready()).rejects.toThrow("part was ended by SIGKILL");
  await part.stop(1_000);
});

it("rejects when the first start fails, and retries a failed restart", { tags: ["check"] }, async () => {
  await expect(
    supervise({
      name: "part",
      start: () => Promise.reject(new Error("no")),
      onGiveUp: () => undefined,
      log: () => undefined,
    }),
  ).rejects.toThrow("no");
  let starts = 0;
  const part = await supervise({
    name: "part",
    start: async () => {
      starts += 1;
      if (starts === 2) throw new Error("port taken");
      return running();
    },
    onGiveUp: () => undefined,
    log: () => undefined,
    policy,
  });
  process.kill(part.pid as number, "SIGKILL");
  await expect.poll(() => starts === 3 && part.pid !== null).toBe(true);
  await part.stop(1_000);
  expect(part.pid === null || !isAlive(part.pid)).toBe(true);
});
