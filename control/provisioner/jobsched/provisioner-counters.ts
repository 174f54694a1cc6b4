/**
 * What the metrics count of the provisioner, from what it says to the Management API: so it is the same whether it runs
 * within this service or elsewhere (docs/rules/managed-models.md#metrics).
 */
import { Counter } from "prom-client";
import { metricOptions } from "../../../shared/catalogues/metrics.ts";
import { TICK_OUTCOMES } from "../../../shared/schema/settings/jobsched.ts";

export class ProvisionerCounters {
  readonly #ticks = new Counter({
    ...metricOptions("gateway_provisioner_ticks_total"),
    registers: [],
  });
  readonly #submits = new Counter({
    ...metricOptions("gateway_provisioner_submits_total"),
    registers: [],
  });
  readonly #restarts = new Counter({
    ...metricOptions("gateway_provisioner_restarts_total"),
    registers: [],
  });
  /** They belong to no registry until they are registered. */
  readonly all = [this.#ticks, this.#submits, this.#restarts] as const;

  constructor() {
    for (const outcome of TICK_OUTCOMES) this.#ticks.inc({ outcome }, 0);
  }

  /** A tick has ended. */
  ticked(outcome: (typeof TICK_OUTCOMES)[number]): void {
    this.#ticks.inc({ outcome });
  }

  /** The scheduler has accepted a job of the provisioner. */
  submitted(): void {
    this.#submits.inc();
  }

  /** Jobs were cancelled because their probes failed. */
  restarted(count: number): void {
    this.#restarts.inc(count);
  }
}
