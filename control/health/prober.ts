/**
 * The health worker (docs/rules/health.md#worker): checks models that are due, a few at a time, and models whose check
 * is requested. When a check is done the next model is taken at once, so that neither many models nor a slow one delay
 * the checks of others. Replicas share the models by row locks.
 */
import { rootCause } from "../../shared/text/root-cause.ts";
import type { AlertOutbox } from "../kernel/alert-outbox.ts";
import type { Logger } from "../kernel/log.ts";
import { failureLevel } from "../kernel/store-watch.ts";
import { type CheckPlan, type CheckTrigger, findingWithoutProbe, planCheck } from "./check-plan.ts";
import { addMissingHealth, claimDue, resetFarChecks } from "./claim-due.ts";
import { type CheckFindings, type CheckTools, checkModel } from "./model-check.ts";
import { ProbeCancelled } from "./probe.ts";
import type { ProbeLedger } from "./probe-ledger.ts";
import { saveCheck } from "./save-check.ts";

/** Models that are checked at the same time. */
const AT_ONCE = 4;
/**
 * A claim lasts as long as this many probe timeouts (a call and a catalog read, each with all attempts), and some time to
 * store the outcome.
 */
const CLAIM_TIMEOUTS = 6;
const CLAIM_MORE_MS = 30_000;

interface ProberOptions {
  readonly tools: CheckTools;
  readonly ledger: ProbeLedger;
  readonly alerts: AlertOutbox;
  /** Uniform in [0, 1). */
  readonly fraction: () => number;
  readonly log: Logger;
}

export class Prober {
  readonly #options: ProberOptions;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #taking: Promise<void> | undefined;
  #adopted = false;
  /** A check may have become due since due checks were last looked for. */
  #wanted = false;

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** Starts as many due checks as may run; it does not wait for them to end. Rejects when the database is unavailable. */
  async run(): Promise<void> {
    this.#wanted = true;
    void this.#options.ledger.flush();
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    await this.#taking;
  }

  /** Says that a check has become due. */
  wake(): void {
    this.run().catch((error: unknown) => this.#failed(error));
  }

  /** Resolves when every due check has ended. */
  async idle(): Promise<void> {
    while (this.#taking !== undefined || this.#running.size > 0) await Promise.all([this.#taking, ...this.#running]);
  }

  /**
   * Checks one model now. Returns null when the model does not exist, else whether the cells have confirmed the result.
   * `signal`: the caller no longer waits for the answer. Throws ProbeCancelled; rejects when the database is unavailable.
   */
  async check(modelId: string, trigger: CheckTrigger, signal?: AbortSignal): Promise<"done" | "pending" | null> {
    const { tools, ledger, alerts, fraction } = this.#options;
    const plan = await planCheck(tools.ctx.db, modelId, tools.ctx.now());
    if (plan === null) return null;
    const found = await this.#findings(plan, trigger, signal);
    ledger.add(plan.model.model_name, found.usages, tools.ctx.now().getTime());
    void ledger.flush();
    const { sync, changes, raised } = await saveCheck(tools.ctx, plan, found, trigger, fraction());
    for (const change of changes) this.#options.log.info({ event: "model_health_changed", ...change });
    if (raised) void alerts.deliver().catch((error: unknown) => this.#failed(error));
    return sync;
  }

  /** Ends running checks; a check that has not ended by then is made again later. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#taking?.catch(() => undefined);
    await Promise.all(this.#running);
    await this.#options.ledger.flush();
  }

  async #take(): Promise<void> {
    const { tools } = this.#options;
    const claimedForMs = CLAIM_TIMEOUTS * tools.timeoutMs + CLAIM_MORE_MS;
    if (!this.#adopted) await addMissingHealth(tools.ctx.db, tools.ctx.now());
    this.#adopted = true;
    await resetFarChecks(tools.ctx.db, tools.ctx.now(), claimedForMs);
    while (this.#wanted && !this.#ending.signal.aborted) {
      const room = AT_ONCE - this.#running.size;
      if (room === 0) return; // the next check that ends looks again
      this.#wanted = false;
      const due = await claimDue(tools.ctx.db, tools.ctx.now(), room, claimedForMs);
      this.#wanted ||= due.length === room;
      for (const id of due) this.#start(id);
    }
  }

  #start(modelId: string): void {
    const running = this.check(modelId, "scheduled")
      .catch((error: unknown) => this.#failed(error))
      .then(() => {
        this.#running.delete(running);
        if (this.#wanted && !this.#ending.signal.aborted) this.wake();
      });
    this.#running.add(running);
  }

  async #findings(plan: CheckPlan, trigger: CheckTrigger, signal: AbortSignal | undefined): Promise<CheckFindings> {
    const { tools } = this.#options;
    const refusal = findingWithoutProbe(plan, trigger, tools.ctx.now());
    if (refusal !== null) return { model: refusal, endpoints: new Map(), usages: [] };
    const ending = this.#ending.signal;
    return await checkModel(tools, plan, trigger, signal === undefined ? ending : AbortSignal.any([ending, signal]));
  }

  #failed(error: unknown): void {
    if (error instanceof ProbeCancelled) return;
    this.#options.log[failureLevel(error)]({ event: "health_check_failed", reason: rootCause(error) });
  }
}
