/**
 * One tick of the provisioner (docs/rules/provisioner.md#tick): read everything, plan, apply, report. A read that fails holds
 * the whole tick: nothing is changed on half of the truth. Keeps nothing that a crash may not lose.
 */
import type { JobschedResolved } from "../../shared/schema/settings/jobsched.ts";
import { type Applied, applyPlan } from "./apply-plan.ts";
import { planTick } from "./core/plan.ts";
import { probeTargets } from "./core/probe-targets.ts";
import type { PlanSettings } from "./core/snapshot.ts";
import {
  type ManagementPort,
  ProvisionerError,
  type SchedulerPort,
  type ServersPort,
  type TickReport,
} from "./ports.ts";

/** The lease of the provisioner is renewed this long after it was, before the next effect: well within its 45 s. */
const RENEW_AFTER_MS = 15_000;

/** What the operator has set by variables. */
export type ProvisionerOptions = Omit<PlanSettings, "installationId" | "aliases">;

interface ProvisionerParts {
  readonly management: ManagementPort;
  /** The scheduler with the settings of this tick, which an administrator may have changed. */
  readonly scheduler: (settings: JobschedResolved) => SchedulerPort;
  readonly servers: ServersPort;
  readonly options: ProvisionerOptions;
  readonly newIntentId: () => string;
  readonly nowMs: () => number;
}

/** How a tick ended, and what it did. */
export interface Tick extends TickReport, Partial<Omit<Applied, "failure">> {
  /** Another process has the lease of the provisioner: this one did nothing, and reports nothing. */
  readonly isStandby?: true;
}

export class Provisioner {
  readonly #parts: ProvisionerParts;
  readonly #refused = new Set<string>();
  #last: TickReport | null = null;
  #known: ReadonlySet<string> = new Set();

  constructor(parts: ProvisionerParts) {
    this.#parts = parts;
  }

  /** Runs one tick; never throws for what the Management API or the scheduler does. */
  async tick(): Promise<Tick> {
    let done: Tick;
    try {
      done = await this.#run();
    } catch (error) {
      if (!(error instanceof ProvisionerError)) throw error;
      done = { outcome: "error", error: error.message };
    }
    if (done.isStandby === true) this.#last = null;
    else this.#last = { outcome: done.outcome, ...(done.error === undefined ? {} : { error: done.error }) };
    return done;
  }

  async #run(): Promise<Tick> {
    const { management, servers, nowMs } = this.#parts;
    const leasedMs = nowMs();
    const resolved = await management.settings(this.#last);
    if (!resolved.may_act) return { outcome: "idle", isStandby: true };
    if (!isComplete(resolved)) return { outcome: "idle" };
    const scheduler = this.#parts.scheduler(resolved);
    const settings = this.#settingsOf(resolved);
    const [specs, replicas] = await Promise.all([management.specs(), management.replicas()]);
    // after the rows: a row that is read later could name a job that is newer than the list
    const ids = new Set(replicas.flatMap(({ job_id }) => job_id ?? []));
    const jobs = await scheduler.jobs({ installationId: settings.installationId, ids });
    const world = { settings, specs, replicas, jobs };
    const probes = await servers.probe(probeTargets(world));
    const plan = planTick({ ...world, probes, refused: this.#refused, nowMs: nowMs() });
    const { failure, ...counts } = await applyPlan(plan, {
      management,
      scheduler,
      servers,
      place: settings,
      newIntentId: this.#parts.newIntentId,
      specs,
      refused: this.#refused,
      checkLease: this.#leaseCheck(leasedMs),
    });
    this.#forgetRefusals(new Set(replicas.map(({ id }) => id)));
    return failure === null ? { outcome: "ok", ...counts } : { outcome: "error", error: failure, ...counts };
  }

  #settingsOf({ installation_id, node_aliases }: JobschedResolved): PlanSettings {
    const aliases = new Map(node_aliases.map(({ host, ip }) => [host, ip]));
    return { ...this.#parts.options, installationId: installation_id, aliases };
  }

  /** Renews the lease when it is time to; throws when another process has it, or when that cannot be known. */
  #leaseCheck(sinceMs: number): () => Promise<void> {
    let renewedMs = sinceMs;
    let isLost = false;
    return async () => {
      const now = this.#parts.nowMs();
      if (!isLost && Math.abs(now - renewedMs) < RENEW_AFTER_MS) return;
      isLost ||= !(await this.#parts.management.settings(null)).may_act;
      if (isLost) throw new ProvisionerError("another provisioner has taken over");
      renewedMs = now;
    };
  }

  /** A row that was there at the start of this tick and is not at the next one needs no memory; rows of this tick do. */
  #forgetRefusals(known: ReadonlySet<string>): void {
    for (const id of this.#known) if (!known.has(id)) this.#refused.delete(id);
    this.#known = known;
  }
}

function isComplete({ enabled, url, user, token }: JobschedResolved): boolean {
  return enabled && url !== "" && user !== "" && token !== null;
}
