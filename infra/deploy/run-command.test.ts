import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Interrupted } from "./interruption.ts";
import { wranglerAt } from "./run-command.ts";

/** Runs a script of Node in the place of wrangler. */
const running = (
  script: string,
  env: Readonly<Record<string, string>> = {},
  interrupted = new AbortController().signal,
) =>
  wranglerAt({
    command: [process.execPath, "-e", script, "--"],
    cwd: import.meta.dirname,
    env: { PATH: process.env["PATH"], ...env },
    interrupted,
  });

it("gives the command no variable of the gateway, and the account that it is about", async () => {
  const script = "console.log(JSON.stringify(process.env)); process.exitCode = 3";
  const given = { GATEWAY_ADMIN_TOKEN: "hidden", DATABASE_URL: "hidden", OIDC_SECRET: "hidden", KEPT: "kept" };
  const { stdout, exitCode } = await running(script, given)([], { interruptible: true, account: "a1" });
  expect(stdout).not.toContain("hidden");
  expect(JSON.parse(stdout)).toMatchObject({ KEPT: "kept", CLOUDFLARE_ACCOUNT_ID: "a1", CI: "true" });
  expect(exitCode).toBe(3);
});

it("lets the command read its input by a path, from a file that has no name", async () => {
  const script = `
    const { readFileSync, readdirSync } = require("node:fs");
    const left = readdirSync(require("node:os").tmpdir()).filter((name) => name.startsWith("gateway-stdin-"));
    console.log(JSON.stringify({ read: readFileSync("/dev/stdin", "utf8"), left }));`;
  const { stdout } = await running(script)([], { interruptible: false, stdin: "secret ü" });
  expect(JSON.parse(stdout)).toEqual({ read: "secret ü", left: [] });
});

it("reads the lines for programs, but for one that was cut off", async () => {
  const script = `require("node:fs").writeFileSync(process.env.WRANGLER_OUTPUT_FILE_PATH, '{"type":"one"}\\n{"type":')`;
  expect((await running(script)([], { interruptible: true })).entries).toEqual([{ type: "one" }]);
});

it("ends a command that changes nothing at an interrupt, and waits for one that does", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-test-"));
  const go = join(folder, "go");
  const controller = new AbortController();
  const script = `
    const { existsSync } = require("node:fs");
    setInterval(() => { if (existsSync(process.argv[1])) { console.log("changed"); process.exit(); } }, 5);`;
  const run = running(script, {}, controller.signal);
  const [asks, changes] = [run(["never"], { interruptible: true }), run([go], { interruptible: false })];
  controller.abort(new Interrupted("interrupted"));
  await expect(asks).rejects.toThrow(Interrupted);
  writeFileSync(go, "");
  expect(await changes).toMatchObject({ exitCode: 0, stdout: "changed\n" });
  await expect(run(["never"], { interruptible: true })).rejects.toThrow(Interrupted);
  rmSync(folder, { recursive: true });
});
