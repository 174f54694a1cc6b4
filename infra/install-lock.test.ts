import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { waitFor } from "../test/harness/wait-for.ts";
import { lockInstall } from "./install-lock.mjs";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "install-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const never = (): void => {
  throw new Error("somebody holds it");
};

it("lies in the folder, names its holder, and is gone afterwards", () => {
  const release = lockInstall(folder, never);
  expect(readFileSync(join(folder, ".install-lock"), "utf8")).toMatch(new RegExp(`^${process.pid} .+$`));
  expect(statSync(join(folder, ".install-lock")).mode & 0o777).toBe(0o600);
  release();
  expect(readdirSync(folder)).toEqual([]);
});

it("is taken over from a process that has ended, from a reused pid and from invalid content", () => {
  for (const content of ["", "rubbish", "999999999 1", `${process.pid} another-start`, `${process.pid}`]) {
    writeFileSync(join(folder, ".install-lock"), content);
    lockInstall(folder, never)();
  }
});

it("follows no link that another user has put at the place of the lock", () => {
  const victim = join(folder, "victim");
  writeFileSync(victim, "untouched");
  symlinkSync(victim, join(folder, `.install-lock.${process.pid}`));
  symlinkSync(victim, join(folder, ".install-lock"));
  lockInstall(folder, never)();
  expect(readFileSync(victim, "utf8")).toBe("untouched");
});

it("is held by one process at a time, also when many take over a stale lock", async () => {
  writeFileSync(join(folder, ".install-lock"), "999999999 1");
  const script = `
    import { mkdirSync, rmdirSync } from "node:fs";
    import { lockInstall } from ${JSON.stringify(new URL("install-lock.mjs", import.meta.url).href)};
    const [, folder] = process.argv;
    for (let turn = 0; turn < 5; turn += 1) {
      const release = lockInstall(folder, () => undefined);
      mkdirSync(folder + "/inside");
      rmdirSync(folder + "/inside");
      release();
    }`;
  const children = Array.from({ length: 6 }, () =>
    spawn(process.execPath, ["--input-type=module", "-e", script, folder], { stdio: ["ignore", "ignore", "inherit"] }),
  );
  const codes = await Promise.all(children.map(async (child) => ((await once(child, "exit")) as [number])[0]));
  expect(codes).toEqual(children.map(() => 0));
  expect(readdirSync(folder)).toEqual([]);
});

it("waits for its holder, names the holder, and continues when the holder is killed", async () => {
  const script = `
    import { lockInstall } from ${JSON.stringify(new URL("install-lock.mjs", import.meta.url).href)};
    lockInstall(process.argv[1], (holder) => console.log("waits for " + holder));
    console.log("held");
    setInterval(() => {}, 1000);`;
  const start = () => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    return { child, output: () => output };
  };
  const first = start();
  await waitFor(first.output, (text) => text.includes("held"));
  const second = start();
  await waitFor(second.output, (text) => text.includes(`waits for ${first.child.pid}`));
  first.child.kill("SIGKILL");
  await waitFor(second.output, (text) => text.includes("held"));
  second.child.kill("SIGKILL");
  await once(second.child, "exit");
});
