/**
 * The limits per minute of tenants and keys over the calls of one client, which come one after another
 * (docs/rules/budgets.md#per-minute-buckets): who is served and who is refused, by which limit, and what the headers say. A client
 * does not know when exactly a bucket was drawn from, so each level is known within bounds.
 */
import { errorCodeOf } from "./calculator.ts";
import type { Matched } from "./compare-rows.ts";
import type { Difference } from "./differences.ts";
import type { Got, Key, Rates, TenantFacts } from "./facts.ts";
import { estimateOf } from "./tokens.ts";

type Kind = keyof Rates;
/** In the order in which a request that several refuse is told. */
const KINDS: readonly Kind[] = ["tokens", "requests"];
const REFUSALS: Readonly<Record<Kind, string>> = {
  tokens: "token_budget_exceeded",
  requests: "request_rate_exceeded",
};

/** Tells a request that its tenant or key never has so many tokens at once. */
const TOO_LARGE = "request_larger_than_quota";

const MINUTE_MS = 60_000;
/** What a lease holds at most of what a limit still has; another key misses it. */
const LEASED_PART = 1 / 8;
/** How long a Cell may hold a lease. */
const LEASE_MS = 20_000;
/** A Cell may show a level as it was when it asked for it. */
const TRIP_MS = 1_000;
/** How long after its answer a call may be settled. */
const SETTLED_MS = 200;
/** So many events before a call are told with a difference. */
const TOLD = 8;
/** Clocks show whole milliseconds. */
const CLOCK_MS = 2;

interface Range {
  readonly least: number;
  readonly most: number;
}

/** What one bucket holds, as far as a client can know. */
class Level {
  readonly kind: Kind;
  /** How many leases others than a call's own may hold of it: of other keys, and of the time before a key's limits changed. */
  readonly #others: number;
  cap = 0;
  /** Its refill per ms; after a change of the capacity either may count until the bucket is used. */
  #rate: Range = { least: 0, most: 0 };
  /** The level if everything came as late as it can have come, as of then. */
  #least = { level: 0, atMs: 0 };
  /** The level if everything came as early as it can have come, as of then. */
  #most = { level: 0, atMs: 0 };
  /** What the ends of the last two calls give back, or take beyond what they had drawn: the last may be on its way still. */
  #ends: readonly [earlier: number, last: number] = [0, 0];

  /** Until then leases of a larger capacity may come back to it, of any size. */
  #refilledUntilMs = 0;
  /** What each key may have on lease since the bucket held too little: a debt takes nothing from the leases of other keys. */
  readonly #lent = new Map<Key | null, number>();

  constructor(kind: Kind, others: number) {
    this.kind = kind;
    this.#others = others;
  }

  /** A new limit is full; what Cells have on lease when it comes is not known, so one that comes later may be empty. */
  change(cap: number, atMs: number, isFirst: boolean): void {
    const rate = cap / MINUTE_MS;
    if (this.cap === 0) {
      this.#rate = { least: rate, most: rate };
      this.#least = { level: isFirst ? cap : -cap, atMs };
      this.#most = { level: cap, atMs };
      this.#ends = [0, 0];
    } else {
      // what the call before used beyond what it had drawn may be taken after the change; a debt is cut at the next use
      const over = Math.max(0, -this.#ends[1]);
      const least = this.#leastAt(atMs, Math.min(this.#rate.least, this.cap / MINUTE_MS));
      this.#least = { level: Math.min(least, cap - over), atMs };
      const most = this.#settledAt(this.#most, atMs, this.#rate.most);
      if (this.#others > 0 && cap < this.cap) this.#refilledUntilMs = atMs + LEASE_MS;
      this.#most = { level: Math.min(cap, Math.max(-cap, most)), atMs };
      this.#rate = { least: Math.min(this.#rate.least, rate), most: Math.max(this.#rate.most, rate) };
    }
    this.cap = cap;
  }

  /** What it may have held at some moment between these: before a call, or after it, while its own end is on its way. */
  between({ startMs, endMs }: Got, isAfter = false): Range {
    const missed = this.#others * Math.ceil(this.cap * LEASED_PART);
    const ends = isAfter ? this.#ends : this.#ends.slice(1);
    const sum = (of: (end: number) => number): number => ends.reduce((total, end) => total + of(end), 0);
    if (startMs < this.#refilledUntilMs) this.#most = { level: this.cap, atMs: startMs };
    return {
      least: this.#leastAt(startMs - CLOCK_MS) - sum((end) => Math.max(0, end)) - missed,
      most: this.#settledAt(this.#most, endMs + CLOCK_MS, this.#rate.most) - sum((end) => Math.min(0, end)),
    };
  }

  /** Whether a call of the key may be served when the bucket held this at most. */
  maySpend(key: Key | null, need: number, most: number): boolean {
    const lent = this.#others > 0 && most < need ? (this.#lent.get(key) ?? this.cap * LEASED_PART) : 0;
    if (most < need) this.#lent.set(key, lent - need);
    else this.#lent.delete(key);
    return Math.max(most, lent) >= need;
  }

  /** Whether all that calls used beyond what they had drawn was known at this time. */
  isSettled(atMs: number): boolean {
    return this.#ends[1] >= 0 || atMs > this.#least.atMs + SETTLED_MS;
  }

  /** Takes what a call has drawn between these times, and then used. */
  take({ startMs, endMs }: Got, drawn: number, used: number): void {
    // When the use before it was cut to the largest debt after this had drawn, what this did not use comes back after that.
    const returned = this.isSettled(startMs) ? -Infinity : Math.max(0, drawn - used) - this.cap;
    const least = this.#leastAt(endMs) - used;
    // what is paid off begins with the settlement, which may come after the answer
    this.#least = { level: this.#clamp(least), atMs: least < -this.cap ? endMs + SETTLED_MS : endMs };
    const most = this.#clamp(this.#settledAt(this.#most, startMs, this.#rate.most) - used);
    this.#most = { level: Math.max(most, returned), atMs: startMs };
    this.#ends = [this.#ends[1], drawn - used];
    const rate = this.cap / MINUTE_MS;
    this.#rate = { least: rate, most: rate };
  }

  /** What is on lease is not refilled before a Cell says that it is spent, so the refill may end so much below the capacity. */
  #leastAt(nowMs: number, rate = this.#rate.least): number {
    const { level } = this.#least;
    return Math.max(level, Math.min(this.cap * (1 - LEASED_PART), this.#settledAt(this.#least, nowMs, rate)));
  }

  #settledAt({ level, atMs }: { readonly level: number; readonly atMs: number }, nowMs: number, rate: number): number {
    return this.#clamp(level + rate * (nowMs - atMs));
  }

  #clamp(level: number): number {
    return Math.min(this.cap, Math.max(-this.cap, level));
  }
}

const needOf = (kind: Kind, { done }: Matched): number => (kind === "tokens" ? estimateOf(done.call).total : 1);
const usedOf = (kind: Kind, { tokens }: Matched): number => (kind === "tokens" ? tokens : 1);

type Event =
  | { readonly call: Matched }
  | { readonly of: TenantFacts | Key; readonly rates: Rates; readonly atMs: number; readonly at: number };

function eventsOf(tenant: TenantFacts, keys: readonly Key[], calls: readonly Matched[]): readonly Event[] {
  const changes = [tenant, ...keys].flatMap((of) =>
    of.rates.map(({ atMs, rates }, at) => ({ atMs, event: { of, rates, atMs, at } })),
  );
  const own = calls.map((call) => ({ atMs: call.done.got.startMs, event: { call } }));
  return [...changes, ...own].toSorted((one, two) => one.atMs - two.atMs).map(({ event }) => event);
}

/** Whether each call began after the one before had ended. */
const areInTurn = (calls: readonly Matched[]): boolean =>
  calls.every(({ done: { got } }, at) => at === 0 || got.startMs >= (calls[at - 1] as Matched).done.got.endMs);

/**
 * Compares the calls of every tenant with limits per minute. Where calls ran at the same time the limits are far above what all of
 * them take: then nobody is refused, and nothing else is known.
 */
export function compareRates(
  tenants: readonly TenantFacts[],
  keys: readonly Key[],
  calls: readonly Matched[],
): readonly Difference[] {
  return tenants.flatMap((tenant) => {
    const own = keys.filter((key) => key.tenant === tenant);
    const ofTenant = calls
      .filter(({ done }) => done.call.key?.tenant === tenant)
      .toSorted((one, two) => one.done.got.startMs - two.done.got.startMs);
    const isLimited = [tenant, ...own].some(({ rates }) =>
      rates.some(({ rates: { tokens, requests } }) => tokens + requests > 0),
    );
    if (!isLimited) return [];
    return new Story(tenant, own, areInTurn(ofTenant)).read(eventsOf(tenant, own, ofTenant));
  });
}

class Story {
  readonly #tenant: TenantFacts;
  readonly #isInTurn: boolean;
  readonly #levels: ReadonlyMap<TenantFacts | Key, Readonly<Record<Kind, Level>>>;
  readonly #differences: Difference[] = [];
  /** What happened last, for who reads a difference. */
  #before: readonly string[] = [];
  /** What the call before was told to wait for, and until when. */
  #told: { readonly code: string; readonly key: Key | null; readonly need: number; readonly untilMs: number } | null =
    null;

  constructor(tenant: TenantFacts, keys: readonly Key[], isInTurn: boolean) {
    this.#tenant = tenant;
    this.#isInTurn = isInTurn;
    this.#levels = new Map(
      [tenant, ...keys].map((of) => {
        const isAlone = keys.every(({ rates }) => keys.length === 1 && rates.length === 1);
        const others = of !== tenant || isAlone ? 0 : keys.length;
        return [of, { tokens: new Level("tokens", others), requests: new Level("requests", others) }] as const;
      }),
    );
  }

  read(events: readonly Event[]): readonly Difference[] {
    for (const event of events)
      if ("call" in event) this.#check(event.call);
      else {
        for (const kind of KINDS)
          this.#levels.get(event.of)?.[kind].change(event.rates[kind], event.atMs, event.at === 0);
        this.#told = null;
        this.#before = [...this.#before, `limits of a ${event.of.kind} ${JSON.stringify(event.rates)}`];
      }
    return this.#differences;
  }

  #check(call: Matched): void {
    const { done } = call;
    const { got } = done;
    const levels = [this.#tenant, done.call.key].flatMap((of) => {
      const both = of === null ? undefined : this.#levels.get(of);
      return both === undefined ? [] : KINDS.map((kind) => both[kind]).filter(({ cap }) => cap > 0);
    });
    const before = levels.map((level) => ({ level, need: needOf(level.kind, call), ...level.between(got) }));
    const story = before.map(
      ({ level, need, least, most }) => `${level.kind}: between ${least} and ${most} of ${level.cap}, needs ${need}`,
    );
    const more = `limits of ${this.#tenant.id}; ${story.join("; ")}; before: ${this.#before.join(", ")}`;
    const differ = (what: string, expected: unknown, found: unknown): void => {
      this.#differences.push({ what: `rate: ${what}`, expected, found, done, more });
    };
    const isServed = done.served.length > 0;
    const code = errorCodeOf(done);
    const refusing = KINDS.find((kind) => REFUSALS[kind] === code);
    const isLow = (kind: Kind): boolean => before.some((each) => each.level.kind === kind && each.least < each.need);
    const short = before.filter(({ level, need, most }) => isServed && !level.maySpend(done.call.key, need, most));
    if (short.length > 0) differ("served below the level", 429, done.got.status);
    if (refusing !== undefined && !isLow(refusing)) differ("refused above the level", "served", code);
    if (refusing === "requests" && before.some(({ level, need, most }) => level.kind === "tokens" && most < need))
      differ("refused for requests, while tokens are missing", REFUSALS.tokens, code);
    const never = before.filter(({ level: { kind, cap }, need }) => kind === "tokens" && need > cap);
    if (refusing === "tokens" && never.length > 0) differ("told to wait for what never fits", TOO_LARGE, code);
    const named = never.some(
      ({ level: { cap }, need }) => got.text.includes(`${need} tokens, `) && got.text.includes(`is ${cap}:`),
    );
    if (code === TOO_LARGE && !named) differ("told that it never fits", story, got.text);
    if (code === TOO_LARGE && got.headers["retry-after"] !== undefined)
      differ("told to wait for what never fits", "nothing", got.headers["retry-after"]);
    if (refusing !== undefined) this.#checkRefusal(call, code, before, differ);
    else if (isServed) this.#told = null;
    if (isServed) for (const level of levels) level.take(got, needOf(level.kind, call), usedOf(level.kind, call));
    if (this.#isInTurn) this.#checkHeaders(call, levels, isServed, differ);
    const what = isServed ? `${needOf("tokens", call)} drawn, ${call.tokens} used` : code || "not served";
    this.#before = [...this.#before.slice(1 - TOLD), `${done.call.id} at ${got.startMs}-${got.endMs}: ${what}`];
  }

  /** When a refused call shall come again: once all buckets hold what it needs. */
  #checkRefusal(
    { done: { call, got } }: Matched,
    code: string,
    before: readonly (Range & { readonly level: Level; readonly need: number })[],
    differ: (what: string, expected: unknown, found: unknown) => void,
  ): void {
    const { headers } = got;
    const told = this.#told;
    const { total } = estimateOf(call);
    const isAgain = told !== null && told.code === code && told.key === call.key && got.startMs >= told.untilMs;
    if (isAgain && total <= told.need) differ("refused although it came when it was told to", "served", code);
    const waits = before.map(({ level: { cap }, need, least, most }) => {
      const due = Math.min(need, cap);
      const ms = (level: number): number => Math.max(0, due - level) / (cap / MINUTE_MS);
      return { least: ms(most), most: ms(least) };
    });
    const least = Math.max(1, Math.floor(Math.max(...waits.map((each) => each.least))));
    const most = Math.max(1, Math.ceil(Math.max(...waits.map((each) => each.most)))) + TRIP_MS;
    const waitMs = Number(headers["retry-after-ms"]);
    if (!(waitMs >= least && waitMs <= most)) differ("retry-after-ms", { least, most }, headers["retry-after-ms"]);
    const seconds = Number(headers["retry-after"]);
    if (seconds !== Math.ceil(waitMs / 1000)) differ("retry-after", Math.ceil(waitMs / 1000), headers["retry-after"]);
    if (headers["x-should-retry"] !== undefined) differ("x-should-retry", "nothing", headers["x-should-retry"]);
    const isSettled = before.every(({ level }) => level.isSettled(got.startMs));
    this.#told = !isSettled ? null : { code, key: call.key, need: total, untilMs: got.endMs + waitMs };
  }

  /**
   * What is left after a call, of the bucket that has less left; what it used may be known to the headers, or not yet. A call that
   * drew nothing may be told what is not on lease. Between two answers of the authority a Cell refills what it shows, as if nothing were
   * on lease.
   */
  #checkHeaders(
    call: Matched,
    levels: readonly Level[],
    isServed: boolean,
    differ: (what: string, expected: unknown, found: unknown) => void,
  ): void {
    const { got } = call.done;
    const { headers } = got;
    if (got.status === null) return;
    for (const kind of KINDS) {
      const shown = ["limit", "remaining", "reset"].map((name) => headers[`x-ratelimit-${name}-${kind}`]);
      const all = levels.filter((level) => level.kind === kind);
      if (all.length === 0) {
        if (shown.some((value) => value !== undefined)) differ(`headers of ${kind} without a limit`, [], shown);
        continue;
      }
      const after = all.map((level) => {
        const { least, most } = level.between(got, true);
        const leased = level.cap * LEASED_PART;
        return { cap: level.cap, least: least - (isServed ? 0 : leased), most: most + leased };
      });
      const tightest = Math.min(...after.map(({ most }) => Math.max(0, most)));
      const isRight = after.some(({ cap, least, most }) => {
        if (Math.max(0, least) > tightest + 1 || Number(shown[0]) !== cap) return false;
        const left = Number(shown[1]);
        const resetMs = 1000 * Number(/^(\d+(?:\.\d{1,3})?)s$/.exec(String(shown[2]))?.[1]);
        const ms = (level: number): number => (cap - level) / (cap / MINUTE_MS);
        return (
          left >= Math.max(0, Math.floor(least - (TRIP_MS * cap) / MINUTE_MS)) &&
          left <= Math.max(0, Math.ceil(most)) &&
          resetMs >= ms(Math.min(cap, most)) - CLOCK_MS &&
          resetMs <= ms(least) + TRIP_MS
        );
      });
      if (!isRight) differ(`headers of ${kind}`, after, shown);
    }
  }
}
