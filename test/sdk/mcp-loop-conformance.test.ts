/**
 * The client scenarios of the official MCP conformance suite, with the tool loop as the client: for each scenario the suite
 * starts a server, and the model of a tenant gets that server's tools. Left out are
 * the scenarios of OAuth and of elicitation, because the gateway has one stored credential and no capabilities, and
 * `sse-retry`, because it resumes no stream (docs/rules/tool-loop.md#tool-servers).
 *
 * @module-tag check
 */
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { useToolLoop } from "../harness/tool-loop-fixture.ts";
import { useServer } from "../harness/use-server.ts";

const SUITE = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/conformance/dist/index.js");
/** The suite starts a program as the client, with the address of its server: this one passes the address on. */
const CLIENT = `const [, , to, url] = process.argv;
const { ok } = await fetch(to, { method: "POST", body: url });
process.exitCode = ok ? 0 : 1;
`;

/** The suite starts a program, which starts slowly beside other tests. */
const TIMEOUT_MS = 120_000;

const fixture = useGateway();
const loop = useToolLoop(fixture);
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mcp-loop-"));
  writeFileSync(join(folder, "client.mjs"), CLIENT);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Asks a model that has the tools of the server at the address in the body. */
const asks = useServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const ask = async (): Promise<number> => {
      const minted = await loop.mint([{ url: Buffer.concat(chunks).toString("utf8") }]);
      const content = `${minted.mark}\ncall {"add_numbers":{"a":2,"b":3}}`;
      const answer = await fixture.gateway.chat(minted, { body: { messages: [{ role: "user", content }] } });
      await answer.text();
      return answer.status;
    };
    ask().then(
      (status) => response.writeHead(status).end(),
      () => response.writeHead(500).end(),
    );
  });
});

/** The checks of a scenario: id, status, and what was wrong. */
async function checksOf(scenario: string): Promise<readonly string[]> {
  const results = join(folder, scenario);
  const command = `${process.execPath} ${join(folder, "client.mjs")} ${asks()}`;
  const args = [
    SUITE,
    "client",
    "--scenario",
    scenario,
    "--command",
    command,
    "--output-dir",
    results,
    "--timeout",
    String(TIMEOUT_MS),
  ];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd: folder }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
  const [file] = globSync("**/checks.json", { cwd: results });
  if (file === undefined) throw new Error(`no checks of ${scenario}: ${output}`);
  const checks = JSON.parse(readFileSync(join(results, file), "utf8")) as readonly Record<string, unknown>[];
  return checks
    .filter(({ status }) => status !== "INFO")
    .map(({ id, status, errorMessage = "" }) => [id, status, errorMessage].join(" | "));
}

it.each([
  // The suite knows no revision before 2025-06-18; the gateway begins with 2025-03-26 and goes on in what the server chose.
  ["initialize", ["mcp-client-initialization | FAILURE | Version mismatch: expected 2025-11-25, got 2025-03-26"]],
  ["tools_call", ["tool-add-numbers | SUCCESS | "]],
])("scenario %s", async (scenario, expected) => {
  expect(await checksOf(scenario)).toEqual(expected);
});
