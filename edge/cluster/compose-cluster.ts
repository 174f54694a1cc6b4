/** What an isolate of a cluster does in addition, for one Cell. Null on a single machine. */
import type { Admission, Alerts, Clock, MakeCall, Sleep } from "../ports.ts";
import { ClusterAdmission } from "./cluster-admission.ts";
import { holderLeaseMs } from "./holder-lease.ts";
import { OwnerWatch } from "./owner-watch.ts";

/** Pauses between attempts at a Ledger without an owner: within the 30 s that the runtime grants to work after an answer. */
const LEDGER_PAUSES_MS = [250, 500, 1000, 2000, 4000, 8000, 4000, 4000, 4000];

interface ClusterSurroundings {
  /** Asks the Cell for its life, on a fresh stub. */
  readonly ask: () => Promise<string>;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly alerts: Alerts;
  /** Lets work outlive the request in whose context it runs. */
  readonly keepAlive: (work: Promise<unknown>) => void;
}

interface Cluster {
  readonly calls: () => MakeCall;
  readonly pausesMs: readonly number[];
  readonly leaseMs: number;
  readonly admission: (inner: Admission) => Admission;
}

/** `patienceMs`: how long a request waits for an owner; 0: this is no cluster. */
export function clusterOf(patienceMs: number, { ask, ...rest }: ClusterSurroundings): Cluster | null {
  if (patienceMs === 0) return null;
  const leaseMs = holderLeaseMs(patienceMs);
  const owner = new OwnerWatch(ask, rest.clock, leaseMs);
  const lease = (onEnd: () => void) => owner.begin(onEnd);
  return {
    calls: owner.calls,
    pausesMs: LEDGER_PAUSES_MS,
    leaseMs,
    admission: (inner) => new ClusterAdmission(inner, { ...rest, patienceMs, lease }),
  };
}
