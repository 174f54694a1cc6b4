/**
 * An isolate's memory for the auto router (docs/rules/auto-router.md): the registered models, how busy they are, the
 * classifier's answers, and whether it fails.
 */
import type { ModelRecord } from "../../../../shared/records.ts";
import { VerdictCache } from "../../../domain/request/model-choice/verdict-cache.ts";
import { RecentFailures } from "../../../domain/upstream/recent-failures.ts";
import type { Ports } from "../../../ports.ts";
import { RefreshedValue } from "./refreshed-value.ts";

/** While the store is down, models that are known stay in use for this long (docs/rules/freshness.md#store-down). */
const MODELS_TERMS = { freshMs: 1000, keptMs: 60 * 60 * 1000 };
const LOAD_TERMS = { freshMs: 100, keptMs: 1000 };

/** How many requests of each model run in a cell. */
interface LoadReport {
  readonly inFlight: ReadonlyMap<string, number>;
  /** How often this isolate has chosen each model since the report. */
  readonly chosen: Map<string, number>;
}

export class AutoRouterMemory {
  readonly verdicts = new VerdictCache();
  /** Failures of classifiers, by model and revision: a record that was changed is another one. */
  readonly classifierFailures = new RecentFailures();
  /** Callers, by the id of their key, whose requests budgets or rates refuse. */
  readonly refusedCallers = new RecentFailures();
  readonly #models = new RefreshedValue<readonly ModelRecord[]>(MODELS_TERMS);
  /** By cell. */
  readonly #loads = new Map<string, RefreshedValue<LoadReport>>();

  /** The registered models; `anew`: read from the store now. Throws 503 `key_store_unavailable`. */
  async models(ports: Pick<Ports, "clock" | "directory">, anew: boolean): Promise<readonly ModelRecord[]> {
    const read = async () => await ports.directory.models();
    const nowMs = ports.clock();
    return anew ? await this.#models.readAgain(nowMs, read) : await this.#models.get(nowMs, read);
  }

  /**
   * How busy the models of the request's cell are. When the Cell cannot be reached, all of them are taken to be idle:
   * admission reports that.
   */
  async load(ports: Pick<Ports, "clock" | "admission">): Promise<LoadReport> {
    const { admission } = ports;
    const known = this.#loads.get(admission.cell) ?? new RefreshedValue<LoadReport>(LOAD_TERMS);
    this.#loads.set(admission.cell, known);
    const read = async () => ({ inFlight: await admission.view.inFlightByModel(), chosen: new Map<string, number>() });
    return await known.get(ports.clock(), read).catch(() => ({ inFlight: new Map(), chosen: new Map() }));
  }
}
