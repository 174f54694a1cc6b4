/**
 * Parts that live and hang: real processes, stopped by the system or blocked in their own event loop.
 *
 * @module-tag check
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { type Child, type ChildSpec, jsonLine, startChild, startGuard } from "./child.ts";
import type { LivenessPolicy } from "./liveness.ts";
import { type Supervised, supervise } from "./supervisor.ts";

const guard = startGuard();
const folder = mkdtempSync(join(tmpdir(), "supervisor-"));
const release = join(folder, "release");
const blocked = join(folder, "blocked");
afterAll(() => {
  guard.close();
  rmSync(folder, { recursive: true });
});

/** A server on a free port; a request for /block blocks its event loop until the file `release` exists. */
const SERVER = `
  const { existsSync, writeFileSync } = require("node:fs");
  const server = require("node:http").createServer((request, response) => {
    if (request.url === "/block") {
      writeFileSync(${JSON.stringify(blocked)}, "");
      while (!existsSync(${JSON.stringify(release)})) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
    response.end("ok");
  });
  server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port })));`;

const spec = (script: string): ChildSpec => ({
  name: "part",
  command: process.execPath,
  args: ["-e", script],
  env: {},
  readyFrom: "stdout",
  readReady: jsonLine,
  log: () => undefined,
});

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

async function serving(policy: LivenessPolicy): Promise<{ part: Supervised; port: () => number; log: string[] }> {
  let port = 0;
  const log: string[] = [];
  const part = await supervise({
    name: "part",
    start: async (): Promise<Child> => {
      const child = await startChild(spec(SERVER), guard);
      port = Number((await child.ready)["port"]);
      return child;
    },
    health: { url: () => `http://127.0.0.1:${port}/health`, policy },
    onGiveUp: () => undefined,
    log: (line) => void log.push(line),
  });
  onTestFinished(async () => await part.stop(0));
  return { part, port: () => port, log };
}

it("ends a process that is alive and answers nothing, and restarts it", async () => {
  const { part, log } = await serving({ graceMs: 0, everyMs: 50, answerWithinMs: 500, checks: 4 });
  const pid = part.pid as number;
  process.kill(pid, "SIGSTOP");
  await waitFor(
    () => part.pid,
    (now) => now !== null && now !== pid,
  );
  expect({ isAlive: isAlive(pid), log }).toEqual({
    isAlive: false,
    log: [expect.stringMatching(/^part did not answer for \d+ s; starting it/)],
  });
});

it("does not restart a process that is blocked and answers in the end", async () => {
  const { part, port, log } = await serving({ graceMs: 0, everyMs: 10, answerWithinMs: 300, checks: 1_000 });
  const pid = part.pid;
  const held = fetch(`http://127.0.0.1:${port()}/block`);
  await waitFor(
    () => existsSync(blocked),
    (found) => found,
  );
  await expect(fetch(`http://127.0.0.1:${port()}/health`, { signal: AbortSignal.timeout(900) })).rejects.toThrow();
  writeFileSync(release, "");
  expect(await (await held).text()).toBe("ok");
  expect({ pid: part.pid, log }).toEqual({ pid, log: [] });
});

it("is stopped at once while a restart hangs, and leaves no half-started process", async () => {
  const started: Child[] = [];
  const part = await supervise({
    name: "part",
    start: async (stopping): Promise<Child> => {
      const script = started.length === 0 ? SERVER : "setInterval(() => {}, 1000)";
      const child = await startChild({ ...spec(script), unwanted: stopping }, guard);
      started.push(child);
      await child.ready;
      return child;
    },
    onGiveUp: () => undefined,
    log: () => undefined,
    policy: { restarts: 5, withinMs: 60_000, firstPauseMs: 1 },
  });
  process.kill(part.pid as number, "SIGKILL");
  await waitFor(
    () => started.length,
    (count) => count === 2,
  );
  await part.stop(1_000);
  expect(started.map(({ pid }) => isAlive(pid))).toEqual([false, false]);
});

it("leaves no process behind that was not ready in time: another may need its port and files", async () => {
  const child = await startChild(spec("setInterval(() => {}, 1000)"), guard, 10);
  await expect(child.ready).rejects.toThrow("part was not ready after 0.01 s (GATEWAY_START_TIMEOUT_SECS)");
  expect(isAlive(child.pid)).toBe(false);
});
