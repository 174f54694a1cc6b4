/**
 * What really happens in the simulation of exchanges, as the simulation records it, not as the tested code reports it:
 * which requests run and which records they were built from, what was granted and spent, which revisions have been
 * acknowledged. Every grant is checked against the laws when it is made.
 */
import type { AdmissionRequest } from "../../../edge/domain/admission/rpc.ts";
import type { RevItem } from "../../../shared/wire/internal.ts";
import { NEED_TOKENS, nameOf, type Tenant } from "./records.ts";
import type { Context } from "./timeline.ts";

interface ExchangeRun {
  readonly id: string;
  readonly request: AdmissionRequest;
  /** The life of the Cell that granted it. */
  readonly life: Context;
  /** Whether its isolate has received the grant. */
  heard: boolean;
  /**
   * Why the Cell certainly does not count it: it was reset, or it has given it up. Null: the Cell counts it.
   */
  uncounted: string | null;
}

interface Cap {
  readonly maxInFlight: number | null;
  /** The time from which another cap is certainly in force; infinite while this one may be in force. */
  overMs: number;
}

interface Spending {
  readonly sinceMs: number;
  readonly tenant: Tenant;
  live: number;
  used: number;
}

export class Truth {
  readonly running = new Map<string, ExchangeRun>();
  /** Every request that was granted, by its id, with its last grant. */
  readonly runs = new Map<string, ExchangeRun>();
  /** Requests whose answers were sent in full. */
  readonly served = new Set<string>();
  readonly broken: string[] = [];
  readonly uncounted = new Map<string, number>();
  /** Tokens that a request was charged, by life of the Cell. */
  readonly #charged = new Map<string, Map<Context, number>>();
  /** Ids of requests that one life of the Cell granted although an earlier life had charged them. */
  readonly #askedAnew = new Set<string>();
  readonly #acknowledged = new Map<string, number>();
  readonly #caps = new Map<string, readonly Cap[]>();
  /** When the scheduler gave a request its slot; its tokens are reserved afterwards. */
  readonly #slotMs = new Map<string, number>();
  readonly #spent = new Map<string, Spending>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  tenant(id: string, tenant: Tenant): void {
    this.#spent.set(id, { sinceMs: this.#now(), tenant, live: 0, used: 0 });
    this.cap(`tenant:${id}`, tenant.maxInFlight);
  }

  /**
   * Changes a cap. The returned function is to be called when the change has been acknowledged: from then on the earlier
   * cap is no longer in force.
   */
  cap(name: string, maxInFlight: number | null): () => void {
    const cap = { maxInFlight, overMs: Infinity };
    const before = this.#caps.get(name) ?? [];
    this.#caps.set(name, [...before, cap]);
    return () => {
      for (const old of before) old.overMs = Math.min(old.overMs, this.#now());
    };
  }

  /** The scheduler gives a request its slot. */
  slot(id: string): void {
    this.#slotMs.set(id, this.#now());
  }

  acknowledged(item: RevItem): void {
    const name = nameOf(item);
    this.#acknowledged.set(name, Math.max(item.rev, this.#acknowledged.get(name) ?? 0));
  }

  /**
   * An admission request is accepted, before its slot is decided. An earlier grant that its isolate has not received is
   * void.
   */
  admitted(request: AdmissionRequest): void {
    if (this.running.get(request.requestId)?.heard === false) this.end(request.requestId, 0);
    for (const item of request.revs) {
      const rev = this.#acknowledged.get(nameOf(item)) ?? 0;
      if (item.rev < rev) this.#breaks(`law 2: ${request.requestId} let in on ${nameOf(item)} ${item.rev}, not ${rev}`);
    }
  }

  grant(request: AdmissionRequest, life: Context): ExchangeRun {
    this.end(request.requestId, 0);
    const run: ExchangeRun = { id: request.requestId, request, life, heard: false, uncounted: null };
    this.running.set(run.id, run);
    this.runs.set(run.id, run);
    if ([...(this.#charged.get(run.id)?.keys() ?? [])].some((charging) => charging !== life))
      this.#askedAnew.add(run.id);
    this.#withinCaps(run);
    const spending = this.#spent.get(request.tenant.id);
    if (spending !== undefined) {
      spending.live += request.need.termTokens;
      this.#withinBudgets(request.tenant.id, spending);
    }
    return run;
  }

  /** Its upstream call has ended; it used `used` tokens. */
  end(id: string, used: number): void {
    const run = this.running.get(id);
    if (run === undefined) return;
    this.running.delete(id);
    const spending = this.#spent.get(run.request.tenant.id);
    if (spending === undefined) return;
    spending.live -= run.request.need.termTokens;
    spending.used += used;
  }

  /** Its client leaves before its isolate has received a grant. */
  left(id: string): void {
    this.end(id, 0);
  }

  /**
   * A life of the Cell charges a request. However often the request is settled, the sum must not be more than the request
   * may use.
   */
  charged(id: string, life: Context, tokens: number): void {
    const lives = this.#charged.get(id) ?? new Map<Context, number>();
    this.#charged.set(id, lives);
    const sum = (lives.get(life) ?? 0) + tokens;
    lives.set(life, sum);
    if (sum > NEED_TOKENS) this.#breaks(`law 4: ${id} is charged ${sum} by ${life.name}`);
  }

  /**
   * The most tokens that a request may have been charged. When one life of the Cell took the request over from another, the
   * largest charge counts; a life that got a new admission request does not know what an earlier life charged.
   */
  mostCharged(id: string): number {
    const lives = [...(this.#charged.get(id)?.values() ?? [])];
    return this.#askedAnew.has(id) ? lives.reduce((sum, tokens) => sum + tokens, 0) : Math.max(0, ...lives);
  }

  /** Tokens that requests of the tenant used. */
  used(tenantId: string): number {
    return this.#spent.get(tenantId)?.used ?? 0;
  }

  /** The Cell no longer counts the request, although it may still run. */
  uncount(run: ExchangeRun, why: string): void {
    if (run.uncounted !== null) return;
    run.uncounted = why;
    this.uncounted.set(why, (this.uncounted.get(why) ?? 0) + 1);
  }

  #withinCaps(run: ExchangeRun): void {
    const { tenant, model } = run.request;
    const runs = [...this.running.values()];
    const groups: readonly (readonly [string, ExchangeRun[]])[] = [
      ["cell:", runs],
      [`tenant:${tenant.id}`, runs.filter(({ request }) => request.tenant.id === tenant.id)],
      [`model:${model.name}`, runs.filter(({ request }) => request.model.name === model.name)],
    ];
    for (const [name, all] of groups) {
      const sinceMs = this.#slotMs.get(run.id) ?? this.#now();
      const caps = (this.#caps.get(name) ?? []).filter(({ overMs }) => overMs >= sinceMs);
      const cap = Math.max(...caps.map(({ maxInFlight }) => maxInFlight ?? Infinity));
      const counted = all.filter(({ uncounted }) => uncounted === null).length;
      if (counted > cap) this.#breaks(`law 1: ${run.id} makes ${counted} of ${cap} at ${name}`);
    }
  }

  #withinBudgets(id: string, { sinceMs, tenant, live, used }: Spending): void {
    const { tokensPerMinute, termTokens } = tenant;
    const filled = tokensPerMinute + ((this.#now() - sinceMs) * tokensPerMinute) / 60_000;
    if (tokensPerMinute > 0 && live + used > filled + 1e-6)
      this.#breaks(`law 4: the bucket of ${id} gave ${live + used} of ${filled}`);
    // The check compares what is left before a request, so the last request may exceed the cap by its own size.
    if (termTokens !== null && live + used >= Math.max(termTokens, 1) + 10)
      this.#breaks(`law 4: the budget of ${id} gave ${live + used} of ${termTokens}`);
  }

  #breaks(what: string): void {
    this.broken.push(`${this.#now()}: ${what}`);
  }
}
