/**
 * The rules of fairshare (docs/rules/fairshare.md#served-score, docs/rules/fairshare.md#choosing-the-next) written as
 * plainly as possible: every decision examines every waiting request. Slow on purpose; the scheduler must grant the same
 * requests in the same order.
 */
import { byScore } from "./reference-arithmetic.test-helper.ts";
import { ReferenceChoice } from "./reference-choice.test-helper.ts";
import type { ReferenceModel } from "./reference-scores.test-helper.ts";
import {
  ALL,
  type ReferenceGroup,
  type ReferenceTenant,
  type ReferenceWaiter,
  referenceBottleneckOf,
} from "./reference-state.test-helper.ts";
import { ServedScore } from "./served-score.ts";
import type { Arrival, SchedulerEvent } from "./types.ts";

export class ReferenceScheduler extends ReferenceChoice {
  /** The ids of requests that are granted because of an event. */
  apply(event: SchedulerEvent): readonly string[] {
    switch (event.type) {
      case "arrive":
        this.#arrive(event.arrival);
        break;
      case "leave":
        this.#unqueue((waiter) => waiter.arrival.requestId === event.requestId);
        this.#settle();
        break;
      case "release":
        this.#release(event.requestId, event.actualTokens);
        break;
      case "capacity":
        this.max = event.maxInFlight;
        break;
      case "tenant": {
        if (event.group !== undefined) this.#reweighGroup(event.group.name, event.group.weight);
        const tenant = this.tenants.get(event.id);
        if (tenant !== undefined) this.#change(tenant, event);
        break;
      }
      case "group":
        this.#reweighGroup(event.name, event.weight);
        break;
      case "model":
        this.#changeModel(event);
        break;
      case "adopt":
      case "hold":
      case "defer":
      case "unheard":
        throw new Error(`the reference knows no ${event.type}`);
      default:
        event satisfies never;
    }
    const granted: string[] = [];
    for (let next = this.next(); next !== undefined; next = this.next()) granted.push(this.#grant(next));
    if (this.running.length === 0 && this.waiting.length === 0) {
      for (const party of [...this.tenants.values(), ...this.groups.values()]) party.served = new ServedScore();
      for (const lines of [this.lines, ...[...this.groups.values()].map((group) => group.lines)]) lines.reset();
    }
    return granted;
  }

  #arrive(arrival: Arrival): void {
    const { tenant: given, group: inGroup, model: wanted } = arrival;
    if (!this.models.has(wanted.name)) {
      const { name, admissionWeight, maxInFlight: cap } = wanted;
      this.models.set(name, { name, admissionWeight, cap, isBottleneck: false, bottleneckPeriods: 0, timesFull: 0 });
    }
    this.#changeModel(wanted);
    const model = this.models.get(wanted.name) as ReferenceModel;
    const group = this.group(inGroup.name, inGroup.weight);
    let tenant = this.tenants.get(given.id);
    if (tenant === undefined) {
      const { id, weight, maxInFlight: cap } = given;
      tenant = { id, weight, cap, served: new ServedScore(), seen: this.tick(), group };
      this.tenants.set(id, tenant);
    }
    this.#reweighGroup(group.id, inGroup.weight);
    this.#change(tenant, { ...given, group: inGroup });
    this.#start(tenant, model);
    this.waiting.push({ arrival, seen: this.tick(), tenant, model });
    this.#settle();
    this.#watch(model);
  }

  #start(tenant: ReferenceTenant, model: ReferenceModel): void {
    const bottleneck = referenceBottleneckOf(model);
    this.#startGroup(tenant.group, bottleneck);
    const waits = this.waitsIn(tenant);
    if (waits.has(bottleneck)) return;
    const full = bottleneck !== null && !this.hasRoom(bottleneck);
    this.linesOf(tenant).start(tenant, bottleneck, full, waits.has(null), this.tick());
  }

  #startGroup(group: ReferenceGroup, bottleneck: ReferenceModel | null): void {
    if (this.algorithm === "weighted" || this.stands(group, bottleneck)) return;
    const full = bottleneck !== null && !this.hasRoom(bottleneck);
    this.lines.start(group, bottleneck, full, this.stands(group, null), this.tick());
  }

  #release(requestId: string, actualTokens: number): void {
    const done = this.running.find(({ arrival }) => arrival.requestId === requestId);
    if (done === undefined) return;
    const { tenant, group, charge, model, weight, groupWeight } = done;
    const wasFull = !this.hasRoom(tenant);
    const stood = [...this.waitsIn(tenant)].filter((bottleneck) => this.stands(tenant.group, bottleneck));
    this.running = this.running.filter((other) => other !== done);
    const correction = actualTokens - charge.tokens;
    this.linesOf(tenant).correct(tenant, charge, weight, correction);
    if (this.algorithm === "hierarchical") this.lines.correct(group, charge, groupWeight, correction);
    if (wasFull) this.#resume(tenant, model, Math.min(charge.tokens, actualTokens), stood);
    this.#settle();
  }

  /** `stood`: the bottlenecks at which its group competed while it did not. */
  #resume(
    tenant: ReferenceTenant,
    model: ReferenceModel,
    tokens: number,
    stood: readonly (ReferenceModel | null)[],
  ): void {
    const { group } = tenant;
    for (const bottleneck of this.waitsIn(tenant)) {
      if (this.algorithm === "hierarchical" && !stood.includes(bottleneck))
        this.lines.resume(group, bottleneck, tokens / group.weight, this.tick());
      this.linesOf(tenant).resume(tenant, bottleneck, tokens / this.w(tenant, model), this.tick());
    }
  }

  #change(tenant: ReferenceTenant, change: Omit<Extract<SchedulerEvent, { type: "tenant" }>, "type">): void {
    const to = change.group === undefined ? tenant.group : this.group(change.group.name, change.group.weight);
    const { weight = tenant.weight, maxInFlight: cap = tenant.cap } = change;
    if (to === tenant.group && weight === tenant.weight && cap === tenant.cap) return;
    const room = (): boolean => this.hasRoom(tenant);
    const wasFull = !room();
    // From here until the end of the change it competes nowhere.
    tenant.cap = 0;
    this.linesOf(tenant).reweigh(tenant, tenant.weight, weight, this.tick());
    tenant.weight = weight;
    if (to !== tenant.group) {
      if (this.algorithm === "hierarchical") {
        for (const bottleneck of this.waitsIn(tenant)) this.#startGroup(to, bottleneck);
        to.lines.receive(tenant, tenant.group.lines, this.tick());
      }
      tenant.group = to;
    }
    const stood = [...this.waitsIn(tenant)].filter((bottleneck) => this.stands(to, bottleneck));
    tenant.cap = cap;
    const oldest = this.waiting.find((waiter) => waiter.tenant === tenant);
    if (wasFull && room() && oldest !== undefined) this.#resume(tenant, oldest.model, oldest.arrival.costTokens, stood);
    this.#settle();
  }

  #reweighGroup(name: string, weight: number): void {
    const group = this.groups.get(name);
    if (group === undefined || group.weight === weight) return;
    if (this.algorithm === "hierarchical") this.lines.reweigh(group, group.weight, weight, this.tick());
    group.weight = weight;
  }

  #changeModel(change: Omit<Extract<SchedulerEvent, { type: "model" }>, "type">): void {
    const model = this.models.get(change.name);
    if (model === undefined) return;
    if (change.maxInFlight !== undefined) model.cap = change.maxInFlight;
    this.#watch(model);
    model.admissionWeight = change.admissionWeight ?? model.admissionWeight;
  }

  #watch(model: ReferenceModel): void {
    if (this.hasRoom(model)) return;
    model.timesFull += 1;
    if (model.isBottleneck || !this.waiting.some((waiter) => waiter.model === model)) return;
    model.isBottleneck = true;
    model.bottleneckPeriods += 1;
    this.#settle();
  }

  /** Every competitor that is new at a bottleneck gets its score there. */
  #settle(): void {
    for (const { tenant, bottleneck } of this.standing(ALL)) {
      this.linesOf(tenant).enter(tenant, bottleneck, this.tick());
      const { group } = tenant;
      if (this.algorithm === "hierarchical") this.lines.enter(group, bottleneck, this.tick());
    }
  }

  #unqueue(leaves: (waiter: ReferenceWaiter) => boolean): void {
    this.waiting = this.waiting.filter((waiter) => !leaves(waiter));
    for (const model of this.models.values())
      if (!this.waiting.some((waiter) => waiter.model === model)) model.isBottleneck = false;
  }

  #grant(waiter: ReferenceWaiter): string {
    const { arrival, tenant, model, seen } = waiter;
    const { group } = tenant;
    const bottleneck = referenceBottleneckOf(model);
    const score = this.linesOf(tenant).settled(tenant, bottleneck);
    const groupScore = this.lines.settled(group, bottleneck);
    this.#unqueue((other) => other.arrival === arrival);
    const everywhere = this.running.length + 1 >= this.max;
    const charge = { tokens: arrival.costTokens, at: this.tick(), model: bottleneck, everywhere };
    const [weight, groupWeight, { admissionWeight }] = [this.w(tenant, model), group.weight, model];
    this.running.push({ arrival, tenant, model, seen, group, charge, weight, groupWeight, admissionWeight });
    this.linesOf(tenant).charge(tenant, charge, weight);
    if (this.algorithm === "hierarchical") this.lines.charge(group, charge, groupWeight);
    this.#settle();
    this.#watch(model);
    const rivals = this.standing((other) => this.algorithm === "weighted" || other.group === group);
    this.linesOf(tenant).advance(bottleneck, score, (which) => {
      const heads = rivals.filter((head) => head.bottleneck === which);
      const [first] = byScore(
        heads,
        (head) => this.score(head),
        (head) => head.seen,
      );
      return first === undefined ? undefined : this.linesOf(tenant).settled(first.tenant, which);
    });
    if (this.algorithm === "hierarchical")
      this.lines.advance(bottleneck, groupScore, (which) => {
        const heads = this.standing(ALL).filter((head) => head.bottleneck === which);
        const [first] = byScore(
          [...new Set(heads.map((head) => head.tenant.group))],
          (one) => this.lines.served(one, which).score,
          (one) => this.oldest(one),
        );
        return first === undefined ? undefined : this.lines.settled(first, which);
      });
    return arrival.requestId;
  }
}
