/**
 * The models of a Cell in the mode `adaptive` (docs/rules/adaptive-capacity.md), each with its limit. The limits learn from
 * requests that end; a change goes to the scheduler like a change of the model itself. Every Cell finds its own capacity.
 */
import type { CapacityBounds } from "../../../shared/fields/model-fields.ts";
import type { AdaptiveCapacity } from "../../../shared/schema/load.ts";
import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { HistorySample } from "../cell/history.ts";
import type { SchedulerEvent, SchedulerOptions } from "../fairshare/types.ts";
import type { UpstreamOutcomes } from "../upstream/attempt-outcomes.ts";
import { AdaptiveLimit, type CapacityChange } from "./adaptive-limit.ts";
import type { EndedCall } from "./capacity-window.ts";

/** Changes of a model that are kept. */
const CHANGES_KEPT = 10;
/** Models whose capacity is remembered. */
const MODELS_KEPT = 1_000;

/** The stored state of a model; `stated`: the capacity in its records. `changes`: the newest first. */
export interface KnownCapacity extends Pick<AdaptiveCapacity, "model" | "changes"> {
  readonly stated: number | null;
}

interface AdaptiveCapacitiesOptions {
  /** From an earlier life of the Cell. */
  readonly known: readonly KnownCapacity[];
  readonly now: () => number;
  readonly random: () => number;
  readonly inFlightOf: (model: string) => number;
  /** Of any model. */
  readonly inFlightBy: (tenantId: string) => number;
  /** Called at each change, with the event for the scheduler. */
  readonly changed: (event: SchedulerEvent, change: CapacityChange) => void;
}

interface AdaptiveModel {
  bounds: CapacityBounds;
  readonly stated: number | null;
  readonly limit: AdaptiveLimit;
  changes: AdaptiveCapacity["changes"];
}

export class AdaptiveCapacities {
  readonly #options: AdaptiveCapacitiesOptions;
  readonly #known: Map<string, KnownCapacity>;
  readonly #models = new Map<string, AdaptiveModel>();
  #unsaved = false;

  constructor(options: AdaptiveCapacitiesOptions) {
    this.#options = options;
    this.#known = new Map(options.known.map((known) => [known.model, known]));
  }

  /** The capacity of a model at this moment, whose records are as stated. */
  readonly capOf: NonNullable<SchedulerOptions["capOf"]> = ({ name, maxInFlight, adaptive }) => {
    const model = this.#models.get(name);
    if (adaptive === null || adaptive === undefined) {
      if (model !== undefined) this.#forget(name);
      return maxInFlight;
    }
    // A capacity that is set by hand, or by auto-tune, is where to start again.
    if (model === undefined || model.stated !== maxInFlight)
      return this.#start(name, adaptive, maxInFlight).limit.limit;
    if (model.bounds.min !== adaptive.min || model.bounds.max !== adaptive.max) {
      model.bounds = adaptive;
      const change = model.limit.bound(adaptive, this.#options.now());
      if (change !== null) this.#note(name, model, change);
    }
    return model.limit.limit;
  };

  /** A request ended that had asked for a slot. Its attempts at other models, before it moved on, teach nothing but refusals. */
  ended(row: UsageRow, upstream: UpstreamOutcomes = {}): void {
    if (row.admission !== "fast" && row.admission !== "queued") return;
    const name = row.served_model === "" ? row.model : row.served_model;
    const model = this.#models.get(name);
    if (model === undefined) return;
    const { now, random, inFlightOf, inFlightBy, changed } = this.#options;
    const inFlight = inFlightOf(name);
    const isAmongOthers = inFlight > inFlightBy(row.tenant_id);
    const change = model.limit.ended({ ...endedCall(row, upstream), inFlight, isAmongOthers }, now(), random);
    if (change === null) return;
    this.#note(name, model, change);
    // The scheduler calls back for the capacity, so pass what the records state.
    changed({ type: "model", name, maxInFlight: model.stated, adaptive: model.bounds }, change);
  }

  view(): readonly AdaptiveCapacity[] {
    return [...this.#models].map(([name, { bounds, limit, changes }]) => ({
      model: name,
      capacity: limit.limit,
      ...bounds,
      changes,
    }));
  }

  sample(): HistorySample["adaptive"] {
    return [...this.#models].map(([name, { limit, changes }]) => ({
      model: name,
      capacity: limit.limit,
      reason: changes[0]?.reason ?? "start",
    }));
  }

  /** The capacities to store; null if nothing has changed since the last call. */
  takeUnsaved(): readonly KnownCapacity[] | null {
    if (!this.#unsaved) return null;
    this.#unsaved = false;
    return [...this.#known.values()];
  }

  #start(name: string, bounds: CapacityBounds, stated: number | null): AdaptiveModel {
    const nowMs = this.#options.now();
    const known = this.#known.get(name);
    const found = known?.stated === stated ? known.changes[0]?.to : undefined;
    const limit = new AdaptiveLimit(bounds, found ?? stated, nowMs);
    const model: AdaptiveModel = { bounds, stated, limit, changes: known?.changes ?? [] };
    this.#models.set(name, model);
    if (found !== limit.limit)
      this.#note(name, model, { from: limit.limit, to: limit.limit, reason: "start", atMs: nowMs });
    return model;
  }

  #forget(name: string): void {
    this.#models.delete(name);
    this.#known.delete(name);
    this.#unsaved = true;
  }

  #note(name: string, model: AdaptiveModel, { from, to, reason, atMs }: CapacityChange): void {
    model.changes = [{ ts_ms: atMs, from, to, reason }, ...model.changes].slice(0, CHANGES_KEPT);
    this.#known.delete(name);
    this.#known.set(name, { model: name, stated: model.stated, changes: model.changes });
    const oldest = this.#known.keys().next().value;
    if (this.#known.size > MODELS_KEPT && oldest !== undefined) this.#known.delete(oldest);
    this.#unsaved = true;
  }
}

function endedCall(row: UsageRow, upstream: UpstreamOutcomes): Omit<EndedCall, "inFlight" | "isAmongOthers"> {
  const { status_code: status, upstream_status: answered, error_code: error } = row;
  const isWhole = status < 400 && answered >= 200 && answered < 300 && error === "";
  const isFirst = row.attempts <= 1 && row.served_model === row.model;
  const wasRefused = (upstream.refused ?? 0) > 0 && row.served_model === row.model;
  return {
    upstreamMs: row.total_ms - row.queue_wait_ms - row.gateway_ms,
    ttftMs: row.ttft_ms,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    outcome: wasRefused ? "refused" : isWhole && isFirst ? "served" : "other",
    tenantId: row.tenant_id,
  };
}
