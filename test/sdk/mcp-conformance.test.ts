/**
 * The official MCP conformance suite has the same result for a server reached directly and through the gateway.
 *
 * @module-tag check
 */
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import { startBearerForwarder } from "../harness/bearer-forwarder.ts";
import { useGateway } from "../harness/fixture.ts";
import { type ReferenceServer, startReferenceServer } from "../harness/mcp-reference/server.ts";

const SUITE = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const fixture = useGateway();
let reference: ReferenceServer;
let folder: string;
beforeAll(async () => {
  reference = await startReferenceServer();
  folder = mkdtempSync(join(tmpdir(), "mcp-conformance-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await reference.close();
});

interface Outcome {
  readonly exitCode: number;
  /** What the suite printed, without addresses and file names. */
  readonly lines: readonly string[];
  /** Scenario, check, status, and what was wrong. */
  readonly checks: readonly string[];
}

/** Runs every scenario of the suite against a server. */
async function conformance(name: string, url: string): Promise<Outcome> {
  const results = join(folder, name);
  const args = [SUITE, "server", "--suite", "all", "--url", url, "--output-dir", results];
  const [exitCode, output] = await new Promise<[number, string]>((resolve) => {
    execFile(process.execPath, args, { cwd: folder }, (error, stdout, stderr) =>
      resolve([error === null ? 0 : Number(error.code), stdout + stderr]),
    );
  });
  const lines = output
    .replaceAll(url, "<url>")
    .replaceAll(results, "<results>")
    .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.-]+Z/g, "<time>")
    .split("\n");
  const checks = globSync("*/checks.json", { cwd: results })
    .sort()
    .flatMap((file) => {
      const scenario = file.replace(/-\d{4}-.*$/, "");
      const found = JSON.parse(readFileSync(join(results, file), "utf8")) as readonly Record<string, unknown>[];
      return found
        .filter((check) => check["status"] !== "INFO")
        .map((check) => [scenario, check["id"], check["status"], check["errorMessage"] ?? ""].join(" | "));
    });
  return { exitCode, lines, checks };
}

it("line by line", async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url);
  await fixture.gateway.must<McpServer>("POST", "/mcp-servers", { name: minted.mark, upstream_url: reference.url });
  const forwarder = await startBearerForwarder(fixture.gateway.proxyUrl, minted.secret);
  try {
    const direct = await conformance("direct", reference.url);
    const through = await conformance("through", `${forwarder.url}/mcp/${minted.mark}`);
    expect(direct.exitCode).toBe(0);
    expect(direct.checks.length).toBeGreaterThanOrEqual(44);
    expect(direct.checks.filter((check) => check.includes("| FAILURE |"))).toEqual([]);
    expect(through.checks).toEqual(direct.checks);
    expect(through.lines).toEqual(direct.lines);
    expect(through.exitCode).toBe(0);
  } finally {
    await forwarder.close();
  }
});
