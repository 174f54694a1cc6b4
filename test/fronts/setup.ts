/** The stack behind the fronts: it trusts the address from which they connect, and has its console on. */
import type { TestProject } from "vitest/node";
import { setupWith } from "../harness/global-setup.ts";
import { programPath } from "../harness/program-path.ts";

/** Starts it; returns the function that stops it. @exported Vitest calls it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (programPath("envoy") === undefined) process.stdout.write("without Envoy: there is none on the PATH\n");
  return await setupWith(project, {
    GATEWAY_TRUSTED_PROXIES: "127.0.0.1",
    GATEWAY_DASHBOARD: "1",
    GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0",
    DASHBOARD_PUBLIC_URL: "https://console.example.org",
  });
}
