/**
 * Decisions §20.1-20.4 written down as plainly as possible: every decision looks at everybody who waits. Slow on purpose;
 * the scheduler must grant the same requests in the same order.
 */
import { byScore, capOf, effective, reweighed } from "./reference-arithmetic.test-helper.ts";
import type { Arrival, FairshareAlgorithm, SchedulerEvent } from "./types.ts";

interface Party {
  weight: number;
  served: number;
}

interface Tenant extends Party {
  readonly id: string;
  readonly seen: number;
  group: string;
  cap: number | null;
  lastModel: string;
}

interface Group extends Party {
  readonly name: string;
  readonly seen: number;
}

interface Waiting {
  readonly arrival: Arrival;
  readonly seen: number;
}

interface Held {
  readonly arrival: Arrival;
  readonly group: string;
}

interface Model {
  admissionWeight: number;
  maxInFlight: number | null;
}

export class Reference {
  readonly #algorithm: FairshareAlgorithm;
  readonly #tenants = new Map<string, Tenant>();
  readonly #groups = new Map<string, Group>();
  readonly #models = new Map<string, Model>();
  /** Virtual time of each competition of tenants, by group ("" when all compete), and of the groups (null). */
  readonly #times = new Map<string | null, number>();
  #waiting: Waiting[] = [];
  #running: Held[] = [];
  #max: number;
  #seen = 0;

  constructor(algorithm: FairshareAlgorithm, maxInFlight: number) {
    this.#algorithm = algorithm;
    this.#max = maxInFlight;
  }

  /** The ids granted because of an event. */
  apply(event: SchedulerEvent): readonly string[] {
    switch (event.type) {
      case "arrive":
        this.#arrive(event.arrival);
        break;
      case "leave":
        this.#waiting = this.#waiting.filter((waiter) => waiter.arrival.requestId !== event.requestId);
        break;
      case "release": {
        const done = this.#running.find(({ arrival }) => arrival.requestId === event.requestId);
        if (done === undefined) break;
        this.#running = this.#running.filter((other) => other !== done);
        for (const party of [this.#tenant(done.arrival.tenant.id), this.#group(done.group)])
          party.served = Math.max(0, party.served + (event.actualTokens - done.arrival.costTokens));
        break;
      }
      case "capacity":
        this.#max = event.maxInFlight;
        break;
      case "tenant":
        if (event.group !== undefined) this.#reweighGroup(event.group.name, event.group.weight);
        if (this.#tenants.has(event.id)) this.#change(this.#tenant(event.id), event);
        break;
      case "group":
        this.#reweighGroup(event.name, event.weight);
        break;
      case "model":
        Object.assign(this.#models.get(event.name) ?? {}, {
          ...(event.admissionWeight === undefined ? {} : { admissionWeight: event.admissionWeight }),
          ...(event.maxInFlight === undefined ? {} : { maxInFlight: event.maxInFlight }),
        });
        break;
      case "adopt":
      case "occupy":
      case "vacate":
      case "unlend":
      case "hold":
        throw new Error(`the reference knows no ${event.type}`);
      default:
        event satisfies never;
    }
    const granted: string[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) granted.push(this.#grant(next));
    if (this.#running.length === 0 && this.#waiting.length === 0) {
      for (const party of [...this.#tenants.values(), ...this.#groups.values()]) party.served = 0;
      this.#times.clear();
    }
    return granted;
  }

  #arrive(arrival: Arrival): void {
    const { tenant: given, group, model } = arrival;
    this.#seen += 1;
    this.#models.set(model.name, { ...model });
    if (!this.#groups.has(group.name)) this.#groups.set(group.name, { ...group, served: 0, seen: this.#seen });
    const groupWasIdle = !this.#groupIsActive(group.name);
    if (!this.#tenants.has(given.id)) {
      const { id, weight, maxInFlight: cap } = given;
      this.#tenants.set(id, { id, weight, cap, served: 0, seen: this.#seen, group: group.name, lastModel: model.name });
    }
    const tenant = this.#tenant(given.id);
    const wasIdle = !this.#isActive(tenant);
    tenant.lastModel = model.name;
    this.#reweighGroup(group.name, group.weight);
    this.#change(tenant, { ...given, group });
    if (wasIdle) {
      const own = this.#group(tenant.group);
      if (groupWasIdle) own.served = Math.max(own.served, this.#time(null) * own.weight);
      const lifted = this.#time(this.#competition(tenant.group)) * this.#w(tenant);
      tenant.served = Math.max(tenant.served, lifted);
    }
    this.#waiting.push({ arrival, seen: this.#seen });
  }

  #change(tenant: Tenant, change: Omit<Extract<SchedulerEvent, { type: "tenant" }>, "type">): void {
    if (change.maxInFlight !== undefined) tenant.cap = change.maxInFlight;
    if (change.weight !== undefined && change.weight !== tenant.weight) {
      const [from, to] = [this.#w(tenant), this.#w(tenant, change.weight)];
      tenant.served = reweighed(tenant.served, this.#time(this.#competition(tenant.group)), from, to);
      tenant.weight = change.weight;
    }
    const to = change.group?.name ?? tenant.group;
    if (to === tenant.group) return;
    if (!this.#groups.has(to)) {
      this.#seen += 1;
      this.#groups.set(to, { name: to, weight: change.group?.weight ?? 0, served: 0, seen: this.#seen });
    }
    if (this.#algorithm === "hierarchical") {
      const group = this.#group(to);
      if (!this.#groupIsActive(to)) group.served = Math.max(group.served, this.#time(null) * group.weight);
      const own = this.#w(tenant);
      tenant.served = this.#time(to) * own + Math.max(0, tenant.served - this.#time(tenant.group) * own);
    }
    tenant.group = to;
  }

  #reweighGroup(name: string, weight: number): void {
    const group = this.#groups.get(name);
    if (group === undefined || group.weight === weight) return;
    if (this.#algorithm === "hierarchical")
      group.served = reweighed(group.served, this.#time(null), group.weight, weight);
    group.weight = weight;
  }

  /** Each tenant's earliest admissible waiter. */
  #heads() {
    const heads = new Map<string, Waiting>();
    for (const waiter of this.#waiting) {
      const { tenant, model } = waiter.arrival;
      const { cap } = this.#tenant(tenant.id);
      const { maxInFlight } = this.#models.get(model.name) ?? { maxInFlight: null };
      const room =
        (cap === null || this.#count((other) => other.arrival.tenant.id === tenant.id) < cap) &&
        (maxInFlight === null || this.#count((other) => other.arrival.model.name === model.name) < maxInFlight);
      if (room && !heads.has(tenant.id)) heads.set(tenant.id, waiter);
    }
    return [...heads.values()];
  }

  #score(waiter: Waiting): number {
    const tenant = this.#tenant(waiter.arrival.tenant.id);
    return tenant.served / this.#w(tenant, tenant.weight, waiter.arrival.model.name);
  }

  #next() {
    if (this.#running.length >= this.#max) return undefined;
    const heads = this.#heads();
    const groupOf = (head: Waiting): string => this.#tenant(head.arrival.tenant.id).group;
    const first = (own: readonly Waiting[]) =>
      byScore(
        own,
        (head) => this.#score(head),
        (head) => head.seen,
      )[0];
    if (this.#algorithm === "weighted") return first(heads);
    const choose = (from: readonly Waiting[]) => {
      const groups = byScore(
        [...new Set(from.map(groupOf))],
        (name) => this.#group(name).served / this.#group(name).weight,
        (name) => Math.min(...this.#waiting.filter((other) => groupOf(other) === name).map((other) => other.seen)),
      );
      return first(from.filter((head) => groupOf(head) === groups[0]));
    };
    const eligible = heads.filter((head) => this.#groupCap(groupOf(head)).below && this.#isBelow(head));
    return choose(eligible) ?? choose(heads);
  }

  #groupCap(name: string) {
    const active = [...this.#groups.values()].filter((group) => this.#groupIsActive(group.name));
    const held = (group: Group): number => this.#count((running) => running.group === group.name);
    return capOf(this.#group(name), active, (group) => group.weight, this.#max, held);
  }

  #isBelow(head: Waiting): boolean {
    if (this.#algorithm === "weighted") return true;
    const tenant = this.#tenant(head.arrival.tenant.id);
    const rivals = [...this.#tenants.values()].filter((other) => other.group === tenant.group && this.#isActive(other));
    const held = (rival: Tenant): number => this.#count((running) => running.arrival.tenant.id === rival.id);
    return capOf(tenant, rivals, (rival) => this.#w(rival), this.#groupCap(tenant.group).most, held).below;
  }

  #grant(waiter: Waiting): string {
    const { arrival } = waiter;
    const tenant = this.#tenant(arrival.tenant.id);
    const group = this.#group(tenant.group);
    const [score, groupScore] = [this.#score(waiter), group.served / group.weight];
    this.#waiting = this.#waiting.filter((other) => other !== waiter);
    this.#running.push({ arrival, group: tenant.group });
    tenant.served += arrival.costTokens;
    group.served += arrival.costTokens;
    const heads = this.#heads();
    const competition = this.#competition(tenant.group);
    const rivals = heads.filter(
      (head) => this.#competition(this.#tenant(head.arrival.tenant.id).group) === competition,
    );
    const advance = (which: string | null, scores: readonly number[], granted: number): void => {
      this.#times.set(which, scores.length > 0 ? Math.min(...scores) : Math.max(this.#time(which), granted));
    };
    advance(
      competition,
      rivals.map((head) => this.#score(head)),
      score,
    );
    const groups = heads.map((head) => this.#group(this.#tenant(head.arrival.tenant.id).group));
    advance(
      null,
      groups.map((other) => other.served / other.weight),
      groupScore,
    );
    return arrival.requestId;
  }

  #w(tenant: Tenant, weight = tenant.weight, model = tenant.lastModel): number {
    return effective(weight, this.#models.get(model)?.admissionWeight ?? 100);
  }

  #count(matches: (running: Held) => boolean): number {
    return this.#running.filter(matches).length;
  }

  #isActive(tenant: Tenant): boolean {
    const owns = ({ arrival }: { readonly arrival: Arrival }): boolean => arrival.tenant.id === tenant.id;
    return this.#waiting.some(owns) || this.#running.some(owns);
  }

  #groupIsActive(name: string): boolean {
    return (
      this.#running.some(({ group }) => group === name) ||
      this.#waiting.some(({ arrival }) => this.#tenant(arrival.tenant.id).group === name)
    );
  }

  #competition(group: string): string {
    return this.#algorithm === "weighted" ? "" : group;
  }

  #time(which: string | null): number {
    return this.#times.get(which) ?? 0;
  }

  #tenant(id: string): Tenant {
    const tenant = this.#tenants.get(id);
    if (tenant === undefined) throw new Error(`no tenant ${id}`);
    return tenant;
  }

  #group(name: string): Group {
    const group = this.#groups.get(name);
    if (group === undefined) throw new Error(`no group ${name}`);
    return group;
  }
}
