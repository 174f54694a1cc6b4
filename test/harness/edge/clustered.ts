/** Admission as in a cluster, with a Cell that the test plays. Leases do not end unless a test gives some that do. */
import { ClusterAdmission } from "../../../edge/cluster/cluster-admission.ts";
import type { Admission } from "../../../edge/ports.ts";
import type { TestPipeline } from "./pipeline/world.ts";

type Options = ConstructorParameters<typeof ClusterAdmission>[1];

export function clustered(cell: Admission, world: TestPipeline, over: Partial<Options> = {}): ClusterAdmission {
  return new ClusterAdmission(cell, {
    patienceMs: 25_000,
    clock: () => world.nowMs,
    sleep: async (_ms, signal) => await untilAborted(signal),
    alerts: { raise: (issue) => void world.alerts.push(issue) },
    lease: () => ({ isHeld: async () => true, release: () => undefined }),
    keepAlive: (work) => void world.pending.push(work),
    ...over,
  });
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
