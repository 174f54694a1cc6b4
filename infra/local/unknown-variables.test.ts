/**
 * What each part does at its start with a variable that no part reads (docs/rules/configuration.md#unknown-variables).
 *
 * @module-tag long
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const MISSPELT = "GATEWAY_ADMIN_TOKN";
const MEANT = "GATEWAY_ADMIN_TOKEN";

/** Each with the cause of its early end: a variable that is missing or malformed, or nobody to call. */
const PARTS: readonly (readonly [part: string, args: readonly string[], env: Readonly<Record<string, string>>])[] = [
  ["the control service", ["control/main.ts"], {}],
  ["the console alone", ["control/dashboard/main.ts"], {}],
  ["the provisioner alone", ["control/provisioner/main.ts"], {}],
  ["npm start", ["infra/local/main.ts"], { GATEWAY_DEMO: "maybe" }],
  ["npm run edge", ["infra/local/edge-main.ts"], {}],
  ["the command line", ["control/cli/main.ts", "drill", "/nowhere"], {}],
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-names-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function ended(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(
    process.execPath,
    args.map((arg, at) => (at === 0 ? join(ROOT, arg) : arg)),
    {
      cwd: folder,
      env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], [MISSPELT]: "planted-secret", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, output: out + errors };
}

it.each(PARTS)("%s warns of a misspelt variable before it fails for another reason", async (_, args, env) => {
  const { code, output } = await ended(args, env);
  const lines = output.trimEnd().split("\n");
  const warnings = lines.filter((line) => line.includes(MISSPELT));
  expect({ code, output, warnings: warnings.length }).toMatchObject({ code: 1, warnings: 1 });
  expect(warnings[0]).toMatch(new RegExp(`${MISSPELT}\\b.*${MEANT}\\b`));
  expect(lines.at(-1)).not.toContain(MISSPELT);
  expect(output).not.toContain("planted");
});

it.each(PARTS)("%s refuses a misspelt variable in one line if GATEWAY_STRICT_ENV is on", async (_, args, env) => {
  const { code, output } = await ended(args, { ...env, GATEWAY_STRICT_ENV: "1" });
  const said = `${MISSPELT} is no variable of the gateway: did you mean ${MEANT}?`;
  expect({ code, lines: output.trimEnd().replace(/^gateway: /, "") }).toEqual({ code: 1, lines: said });
});
