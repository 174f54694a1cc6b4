/** What the slow reference remembers, and what follows directly from it; decides nothing (reference.test-helper.ts). */

import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { capOf, effective } from "./reference-arithmetic.test-helper.ts";
import {
  type ReferenceCharge,
  type ReferenceCompetitor,
  type ReferenceModel,
  ReferenceScores,
} from "./reference-scores.test-helper.ts";
import { ServedScore } from "./served-score.ts";
import type { Arrival } from "./types.ts";

export interface ReferenceTenant extends ReferenceCompetitor {
  readonly seen: number;
  weight: number;
  group: ReferenceGroup;
  cap: number | null;
}

export interface ReferenceGroup extends ReferenceCompetitor {
  readonly seen: number;
  weight: number;
  readonly lines: ReferenceScores;
}

export interface ReferenceWaiter {
  readonly arrival: Arrival;
  readonly seen: number;
  readonly tenant: ReferenceTenant;
  readonly model: ReferenceModel;
}

interface ReferenceRunning extends ReferenceWaiter {
  readonly group: ReferenceGroup;
  readonly charge: ReferenceCharge;
  /** Weights of the tenant, the group and the model at the grant. */
  readonly weight: number;
  readonly groupWeight: number;
  readonly admissionWeight: number;
}

export interface Candidate extends ReferenceWaiter {
  readonly bottleneck: ReferenceModel | null;
}

export const ALL = () => true;

export function referenceBottleneckOf(model: ReferenceModel): ReferenceModel | null {
  return model.isBottleneck ? model : null;
}

export class ReferenceState {
  protected readonly algorithm: FairshareAlgorithm;
  protected readonly tenants = new Map<string, ReferenceTenant>();
  protected readonly groups = new Map<string, ReferenceGroup>();
  protected readonly models = new Map<string, ReferenceModel>();
  /** Scores of all tenants in weighted mode, of the groups in hierarchical mode. */
  protected readonly lines = new ReferenceScores();
  protected waiting: ReferenceWaiter[] = [];
  protected running: ReferenceRunning[] = [];
  protected max: number;
  #events = 0;

  constructor(algorithm: FairshareAlgorithm, maxInFlight: number) {
    this.algorithm = algorithm;
    this.max = maxInFlight;
  }

  /** Every tenant's heads up to the first whose model is no bottleneck, in order of arrival. */
  protected standing(of: (tenant: ReferenceTenant) => boolean): readonly Candidate[] {
    return [...this.tenants.values()].filter(of).flatMap((tenant) => {
      if (!this.hasRoom(tenant)) return [];
      const own = this.waiting.filter((waiter) => waiter.tenant === tenant);
      const heads = own.filter(({ model }, at) => own.findIndex((other) => other.model === model) === at);
      const first = heads.findIndex(({ model }) => !model.isBottleneck);
      return heads
        .slice(0, first === -1 ? heads.length : first + 1)
        .map((head) => ({ ...head, bottleneck: referenceBottleneckOf(head.model) }));
    });
  }

  /** True when a tenant of the group competes at the bottleneck. */
  protected stands(group: ReferenceGroup, bottleneck: ReferenceModel | null): boolean {
    return this.standing((tenant) => tenant.group === group).some((head) => head.bottleneck === bottleneck);
  }

  /** The bottlenecks at which a tenant competes. */
  protected waitsIn(tenant: ReferenceTenant): ReadonlySet<ReferenceModel | null> {
    return new Set(
      this.waiting.filter((waiter) => waiter.tenant === tenant).map(({ model }) => referenceBottleneckOf(model)),
    );
  }

  protected hasRoom(of: ReferenceTenant | ReferenceModel): boolean {
    return of.cap === null || this.running.filter(({ tenant, model }) => tenant === of || model === of).length < of.cap;
  }

  protected linesOf(tenant: ReferenceTenant): ReferenceScores {
    return this.algorithm === "weighted" ? this.lines : tenant.group.lines;
  }

  protected score({ tenant, bottleneck }: Candidate): number {
    return this.linesOf(tenant).served(tenant, bottleneck).score;
  }

  protected w(tenant: ReferenceTenant, model: ReferenceModel): number {
    return effective(tenant.weight, model.admissionWeight);
  }

  /** The weight of a tenant's slot cap: of what it may be granted next, else of what it runs. */
  #capWeight(tenant: ReferenceTenant): number {
    const standing = this.standing((other) => other === tenant);
    if (standing.length > 0) return Math.min(...standing.map(({ model }) => this.w(tenant, model)));
    const own = this.running.filter((running) => running.tenant === tenant);
    const total = own.reduce((sum, running) => sum + running.admissionWeight, 0);
    return own.length > 0 ? effective(tenant.weight, total / own.length) : tenant.weight;
  }

  /** The arrival order of the request that has waited longest in a group. */
  protected oldest(group: ReferenceGroup): number {
    return this.waiting.find((waiter) => waiter.tenant.group === group)?.seen ?? 0;
  }

  protected groupCap(group: ReferenceGroup) {
    const active = [...this.groups.values()].filter((other) => this.#isActive((one) => one.group === other));
    const held = (other: ReferenceGroup): number => this.running.filter((running) => running.group === other).length;
    return capOf(group, active, (other) => other.weight, this.max, held);
  }

  protected isBelow(tenant: ReferenceTenant): boolean {
    const rivals = [...this.tenants.values()].filter(
      (other) => other.group === tenant.group && this.#isActive((one) => one.tenant === other),
    );
    const held = (rival: ReferenceTenant): number => this.running.filter((running) => running.tenant === rival).length;
    return capOf(tenant, rivals, (rival) => this.#capWeight(rival), this.groupCap(tenant.group).most, held).below;
  }

  protected group(id: string, weight: number): ReferenceGroup {
    let group = this.groups.get(id);
    if (group === undefined) {
      group = { id, weight, served: new ServedScore(), seen: this.tick(), lines: new ReferenceScores() };
      this.groups.set(id, group);
    }
    return group;
  }

  /** Positions in the order of events. */
  protected tick(): number {
    this.#events += 1;
    return this.#events;
  }

  #isActive(owns: (request: { readonly tenant: ReferenceTenant; readonly group: ReferenceGroup }) => boolean): boolean {
    return this.waiting.some((waiter) => owns({ ...waiter, group: waiter.tenant.group })) || this.running.some(owns);
  }
}
