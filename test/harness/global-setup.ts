/**
 * One whole stack for the spec and sdk tests: real parts, an empty data folder, free ports, no demo.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startStack } from "../../infra/local/stack.ts";

declare module "vitest" {
  export interface ProvidedContext {
    readonly proxyUrl: string;
    readonly adminUrl: string;
    readonly metricsUrl: string;
    readonly adminToken: string;
    readonly internalToken: string;
  }
}

/** Starts the stack; the answer stops it and removes its folder. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-spec-"));
  const stack = await startStack({ env: stackEnv(dataDir) });
  for (const name of ["proxyUrl", "adminUrl", "metricsUrl", "adminToken", "internalToken"] as const)
    project.provide(name, stack[name]);
  return async () => {
    await stack.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}

/** Environment of a stack on free loopback ports. */
export function stackEnv(dataDir: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_DEMO: "0",
    GATEWAY_PROXY_LISTEN: "127.0.0.1:0",
    GATEWAY_ADMIN_LISTEN: "127.0.0.1:0",
    GATEWAY_METRICS_LISTEN: "127.0.0.1:0",
    ...more,
  };
}
