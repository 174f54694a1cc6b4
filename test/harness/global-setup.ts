/**
 * One whole stack for the spec and sdk tests: real parts, an empty data folder, free ports, no demo, the reference
 * compression sidecar.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startCompressor } from "../../infra/compressor/server.ts";
import type { DashboardAccess } from "../../infra/local/dashboard.ts";
import type { AutoRouterValue } from "../../shared/schema/settings/auto-router.ts";
import type { BoonsValue } from "../../shared/schema/settings/boons.ts";
import { layDatabase, makeTemplate } from "./database-template.ts";
import { Gateway } from "./gateway.ts";
import { startStackProcess } from "./stack-process.ts";

declare module "vitest" {
  export interface ProvidedContext {
    readonly proxyUrl: string;
    readonly adminUrl: string;
    readonly metricsUrl: string;
    readonly adminToken: string;
    readonly internalToken: string;
    /** The file with every line that the stack's parts have written, each after the name of its part. */
    readonly logFile: string;
    /** The console of the stack; null: it has none. */
    readonly consoleAccess: DashboardAccess | null;
  }
}

/**
 * The shared settings of boons. All test files share them, so no test changes them. A boon acts only for models that a test
 * gives it to, and a model that is named here exists only while the file that tests it runs.
 */
export const BOON_SETTINGS = {
  vision_enabled: true,
  vision_fallback_model: "describer",
  structured_output_enabled: true,
  tool_loop_enabled: true,
  tool_loop_max_turns: 8,
  tool_loop_tool_timeout_ms: 10_000,
  compression_enabled: true,
} as const satisfies Partial<BoonsValue>;

export const AUTO_ROUTER_SETTINGS = {
  classifier_enabled: true,
  classifier_model: "classifier",
  classifier_timeout_ms: 5_000,
} as const satisfies AutoRouterValue;

/**
 * Starts the stack, with as many Worker processes as TEST_WORKERS says (docs/rules/local-stack.md#several-processes); returns the
 * function that stops it and removes its folder. @exported Vitest calls it.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  return await setupWith(project, { GATEWAY_WORKERS: process.env["TEST_WORKERS"] ?? "1" });
}

export async function setupWith(
  project: TestProject,
  more: Readonly<Record<string, string>>,
): Promise<() => Promise<void>> {
  await makeTemplate();
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-spec-"));
  const logFile = join(dataDir, "stack.log");
  const compressor = await startCompressor({ host: "127.0.0.1", port: 0 });
  const sidecar = { GATEWAY_COMPRESSOR_URL: compressor.url, GATEWAY_COMPRESSOR_TIMEOUT_MS: "10000" };
  const env = stackEnv(dataDir, { ...sidecar, ...more });
  const stack = await startStackProcess(env, logFile);
  const gateway = new Gateway(stack);
  await gateway.must("PUT", "/settings/boons", BOON_SETTINGS);
  await gateway.must("PUT", "/settings/auto-router", AUTO_ROUTER_SETTINGS);
  project.provide("logFile", logFile);
  project.provide("consoleAccess", stack.dashboard);
  for (const name of ["proxyUrl", "adminUrl", "metricsUrl", "adminToken", "internalToken"] as const)
    project.provide(name, stack[name]);
  return async () => {
    await stack.stop();
    await compressor.close();
    // Without this, a part that was started again, or a store that was late, looks like failures of the tests that used it.
    const said =
      readFileSync(logFile, "utf8").match(/^stack \| .*(?:did not answer|again).*$|^.*key_store_failed.*$/gm) ?? [];
    for (const line of said) process.stdout.write(`${line}\n`);
    rmSync(dataDir, { recursive: true, force: true });
  };
}

/**
 * The environment of a stack on free loopback ports, without a console, with a migrated database in its data folder. Health checks run only
 * when a test requests them, because its upstreams count the requests that they get.
 */
export function stackEnv(dataDir: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  if (more["GATEWAY_DATABASE_URL"] === undefined) layDatabase(join(dataDir, "postgres"));
  return {
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_DEMO: "0",
    // Streams that a test leaves open do not delay its end.
    GATEWAY_DRAIN_SECS: "3",
    GATEWAY_DASHBOARD: "0",
    GATEWAY_MODEL_HEALTH_ENABLED: "0",
    GATEWAY_PROXY_LISTEN: "127.0.0.1:0",
    GATEWAY_ADMIN_LISTEN: "127.0.0.1:0",
    GATEWAY_METRICS_LISTEN: "127.0.0.1:0",
    ...more,
  };
}
