/**
 * The state of models as reads show it (docs/rules/health.md#shown-state). A managed model that no replica serves is down, whatever
 * its checks have found so far; where checks have found nothing, requests say how a model does. No request is routed by it.
 */
import { GatewayError } from "../../shared/errors.ts";
import { SharedReads } from "../kernel/shared-reads.ts";
import { modelOutcomes, type Outcomes } from "../usage/analytics/recent-traffic.ts";
import type { AnalyticsStore } from "../usage/analytics/store.ts";
import { UNKNOWN_HEALTH } from "./health-state.ts";

const TRAFFIC_MS = 3_600_000;
/** Nobody waits longer for what the analytics store would add. */
const WITHIN_MS = 1000;
/** Fewer failures than this, or a smaller part of the requests, are no state. */
const FAILED_MIN = 3;
const FAILED_SHARE = 0.2;

/** The status of a model by its name, where `status` is what its checks found. */
type StatusOf = (name: string, status: string) => string;

export class TrafficHealth {
  readonly #store: Pick<AnalyticsStore, "rows" | "db">;
  readonly #shared = new SharedReads<ReadonlyMap<string, Outcomes>>();

  constructor(store: Pick<AnalyticsStore, "rows" | "db">) {
    this.#store = store;
  }

  /** What requests add to these statuses; without the analytics store nothing. */
  async statusOf(statuses: readonly string[], nowMs: number): Promise<StatusOf> {
    if (!statuses.includes(UNKNOWN_HEALTH.status)) return (_, status) => status;
    const outcomes = await this.#shared
      .get("", nowMs, async () => await modelOutcomes(this.#store, nowMs - TRAFFIC_MS, WITHIN_MS))
      .catch((error: unknown) => {
        if (error instanceof GatewayError) return new Map<string, Outcomes>();
        throw error;
      });
    return (name, status) => (status === UNKNOWN_HEALTH.status ? statusBy(outcomes.get(name)) : status);
  }
}

function statusBy(found: Outcomes | undefined): string {
  if (found === undefined || found.requests === 0) return UNKNOWN_HEALTH.status;
  const failed = found.requests - found.served;
  if (failed >= FAILED_MIN && failed >= FAILED_SHARE * found.requests) return "degraded";
  return found.served > 0 ? "healthy" : UNKNOWN_HEALTH.status;
}
