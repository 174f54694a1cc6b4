import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FolderLocked, lockFolder } from "./folder-lock.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "folder-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const idle = async () => {
  const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] });
  await once(child, "spawn");
  return child;
};

it("admits one owner at a time", async () => {
  const lock = await lockFolder(folder);
  await expect(lockFolder(folder, 0)).rejects.toThrow(FolderLocked);
  await expect(lockFolder(folder, 0)).rejects.toThrow(String(process.pid));
  lock.release();
  (await lockFolder(folder)).release();
  expect(readdirSync(folder)).toEqual([]);
});

it("makes the folder, for its owner only", async () => {
  const lock = await lockFolder(join(folder, "deep/er"));
  expect(readdirSync(join(folder, "deep/er"))).toEqual(["lock"]);
  lock.release();
});

it("takes over from a dead process, a reused pid, and rubbish", async () => {
  const child = await idle();
  const pid = child.pid as number;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  for (const content of [
    JSON.stringify({ [pid]: "1" }),
    JSON.stringify({ [process.pid]: "another start" }),
    "",
    "rubbish",
    "null",
  ]) {
    writeFileSync(join(folder, "lock"), content);
    (await lockFolder(folder, 0)).release();
  }
});

it("waits for the children of a dead launcher, and only for them", async () => {
  const child = await idle();
  const pid = child.pid as number;
  const lock = await lockFolder(folder);
  lock.addHolder(pid);
  const holders = JSON.parse(readFileSync(join(folder, "lock"), "utf8")) as Record<string, string>;
  // as if this process had died and its child were still there
  writeFileSync(join(folder, "lock"), JSON.stringify({ 1: "another start", [pid]: holders[pid] }));
  await expect(lockFolder(folder, 0)).rejects.toThrow(FolderLocked);
  const taken = lockFolder(folder, 30_000);
  child.kill("SIGKILL");
  (await taken).release();
});

it("is taken over by exactly one of many", async () => {
  writeFileSync(join(folder, "lock"), "{}");
  const attempts = await Promise.allSettled(Array.from({ length: 10 }, () => lockFolder(folder, 0)));
  expect(attempts.filter((attempt) => attempt.status === "fulfilled")).toHaveLength(1);
});
