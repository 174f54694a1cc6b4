import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { waitFor } from "../test/harness/wait-for.ts";

const ROOT = join(import.meta.dirname, "..");
/** The launcher and its imports. */
const FILES = [...globSync("infra/*.mjs", { cwd: ROOT }), "control/db/process-start.mjs"];

/** A project without its packages, and an npm that never ends and says its pid. */
function projectWithoutPackages(): { readonly launch: string; readonly npm: string } {
  const root = mkdtempSync(join(tmpdir(), "gateway-launch-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const file of FILES) cpSync(join(ROOT, file), join(root, file));
  const packages = { "": { dependencies: { zod: "4.0.0" } }, "node_modules/zod": { version: "4.0.0", integrity: "x" } };
  writeFileSync(join(root, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
  const npm = join(root, "npm.js");
  writeFileSync(npm, `console.error("npm is", process.pid); setInterval(() => {}, 1000);`);
  return { launch: join(root, "infra/launch.mjs"), npm };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it.each(["99999999", "-1", "abc"])("refuses %s sockets of a service manager in one line", (count) => {
  const { status, stderr } = spawnSync(
    "/bin/sh",
    ["-c", 'export LISTEN_PID=$$; exec "$@"', "sh", process.execPath, join(ROOT, "infra/launch.mjs"), "infra/types.ts"],
    { encoding: "utf8", env: { ...process.env, LISTEN_FDS: count } },
  );
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: "LISTEN_FDS must be the number of handed sockets, from 0 to 16, in digits\n",
  });
});

it("says that packages are still installed, and ends npm and itself by a signal", { tags: ["long"] }, async () => {
  const { launch, npm } = projectWithoutPackages();
  const child = spawn(process.execPath, [launch, "--omit=dev", "x.ts"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env["PATH"], npm_execpath: npm },
  });
  const exited = once(child, "exit");
  let said = "";
  child.stderr.on("data", (chunk) => (said += String(chunk)));
  await waitFor(
    () => ({ said, code: child.exitCode }),
    ({ said: text, code }) =>
      code !== null || (text.includes("still installing packages, for 5 s") && text.includes("npm is ")),
  );
  const pid = Number(/npm is (\d+)/.exec(said)?.[1]);
  child.kill("SIGTERM");
  expect({ exit: await exited, isNpmAlive: isAlive(pid) }).toEqual({ exit: [143, null], isNpmAlive: false });
});
