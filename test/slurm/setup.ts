/**
 * For the tests with a real Slurm: the cluster, and one whole stack whose provisioner works once a second.
 */
import type { TestProject } from "vitest/node";
import { setupWith } from "../harness/global-setup.ts";
import { SlurmCluster } from "./cluster.ts";
import { clusterObstacle } from "./cluster-root.ts";

/** The stack's provisioner; short times, so that tests wait for what happens and not for the clock. */
export const PROVISIONER_VARIABLES = {
  GATEWAY_PROVISIONER_INTERVAL_SECS: "1",
  GATEWAY_PROVISIONER_HEALTH_TIMEOUT_SECS: "2",
  GATEWAY_PROVISIONER_HELD_AFTER_SECS: "10",
  GATEWAY_PROVISIONER_DRAIN_SECS: "1",
  GATEWAY_PROVISIONER_LOST_RETENTION_SECS: "600",
  GATEWAY_PROVISIONER_RESTART_AFTER_FAILURES: "3",
  GATEWAY_PORT_SPAN: "3",
} as const;

/** Starts both; returns the function that stops them. @exported Vitest calls it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const obstacle = clusterObstacle();
  if (obstacle !== null) throw new Error(`the tests with a real Slurm cannot run here: ${obstacle}`);
  const cluster = new SlurmCluster();
  await cluster.up();
  const stopStack = await setupWith(project, PROVISIONER_VARIABLES);
  return async () => {
    await stopStack();
    await cluster.down();
  };
}
