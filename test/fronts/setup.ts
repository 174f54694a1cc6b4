/** The stack behind the fronts: it trusts the address from which they connect, and has its console on. */
import type { TestProject } from "vitest/node";
import { setupWith } from "../harness/global-setup.ts";

/** Starts it; returns the function that stops it. @exported Vitest calls it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  return await setupWith(project, {
    GATEWAY_TRUSTED_PROXIES: "127.0.0.1",
    GATEWAY_DASHBOARD: "1",
    GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0",
  });
}
