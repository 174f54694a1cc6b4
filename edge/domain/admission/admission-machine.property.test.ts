/**
 * A Cell's admission with the real scheduler and the real budgets, under any order of messages, each of them once, twice or
 * late: requests that ask, move to another model, are ended, given up and taken back, isolates that are quiet, changes of
 * records and of the cap, and late answers of the budget object. Every step of a request that the table of states lacks throws.
 */
import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import type { Caps } from "../../../test/harness/edge/budget/simulation.ts";
import { AdmissionHarness } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf, subCallOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import {
  type AdmissionEntry,
  isSubCall,
  move,
  type RequestEvent,
  type RequestState,
  STEPS,
} from "./admission-entry.ts";
import type { AdmissionRequest } from "./rpc.ts";

/** Tenant 0 is free, tenant 1 has a small bucket, tenant 2 a small term budget. */
const CAPS: readonly Caps[] = [{}, { tokensPerMinute: 40 }, { tenantTokens: 60 }];
const TENANTS = [0, 1, 2] as const;
const ISOLATES = ["here", "there"] as const;
/** The charge of a request that is given up while it runs. */
const ESTIMATE = 10;
const ROW_WAITS_MS = 6_000;

beforeEach(() => vi.useFakeTimers());

const who = fc.nat(1_000);
const isolate = fc.constantFrom(...ISOLATES);
const tenant = fc.constantFrom(...TENANTS);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("ask" as const), tenant, isolate, isSubCall: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("ask again" as const),
      who,
      anew: fc.boolean(),
      isRead: fc.boolean(),
      model: fc.constantFrom("m", "m", "other"),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      type: fc.constantFrom("repeat" as const, "depart" as const, "wait" as const, "return" as const),
      who,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant("end" as const), who, tokens: fc.constantFrom(0, 5, 13) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom("lose" as const, "quiet" as const), isolate }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("capacity" as const), max: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("change" as const), tenant }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("pass" as const), ms: fc.constantFrom(0, 1_000, ROW_WAITS_MS) }),
  },
);
const reach = fc.record({
  type: fc.constant("reach" as const),
  reach: fc.constantFrom("up" as const, "down" as const),
});
type Step =
  | (typeof step extends fc.Arbitrary<infer T> ? T : never)
  | (typeof reach extends fc.Arbitrary<infer T> ? T : never);

interface Known {
  readonly id: string;
  readonly tenant: (typeof TENANTS)[number];
  readonly isolate: string;
  readonly isSubCall: boolean;
  /** The newest admission request. */
  request: AdmissionRequest;
  /** It had a place, a slot or a refusal, or its row was handed in. */
  hasRow: boolean;
  /** It ended before its row was written. */
  wasServed: boolean;
  charged: number;
  /** Until then it is only given up, and its use may still be charged. */
  lostUntilMs: number;
  /** It was given up while it ran, or its row was written before it came back. */
  isCharged: boolean;
}

class History {
  readonly world: AdmissionHarness;
  readonly known: Known[] = [];
  readonly wrong: string[] = [];
  readonly #revs = [0, 0, 0];
  readonly #quiet = new Set<string>();
  readonly #ends: Promise<void>[] = [];

  constructor(algorithm: "weighted" | "hierarchical") {
    this.world = new AdmissionHarness(algorithm, 2);
    const isQuiet = (isolate: string) => this.#quiet.has(isolate);
    const decided: AdmissionHarness["members"]["decided"] = (entry, answer) => this.#decided(entry, answer.verdict);
    Object.assign(this.world.members, { decided, isQuiet });
  }

  async take(one: Step): Promise<void> {
    const { world } = this;
    const { admission, revisions, budgets } = world;
    world.nowMs += 1;
    if (one.type === "ask") {
      const id = `r${this.known.length}`;
      const { tenant, isolate, isSubCall } = one;
      const request = this.#requestOf(id, tenant, isSubCall);
      const known = {
        id,
        tenant,
        isolate,
        isSubCall,
        request,
        hasRow: false,
        isCharged: false,
        wasServed: false,
        charged: 0,
        lostUntilMs: 0,
      };
      this.known.push(known);
      this.#ask(known);
    } else if (one.type === "capacity") admission.apply({ type: "capacity", maxInFlight: one.max });
    else if (one.type === "change") {
      this.#revs[one.tenant] = world.nowMs;
      revisions.note([{ kind: "tenant", id: `t${one.tenant}`, rev: world.nowMs }], world.nowMs);
    } else if (one.type === "pass") await this.pass(one.ms);
    else if (one.type === "reach") budgets.reach = one.reach;
    else if ("isolate" in one) this.#isolate(one.isolate, one.type);
    else {
      const known = this.known[one.who % Math.max(1, this.known.length)];
      if (known !== undefined) this.#about(known, one);
    }
  }

  /** Gives up everything that is left, and lets the rows be written. */
  async finish(): Promise<void> {
    for (const isolate of ISOLATES) for (const entry of this.world.admission.liveOf(isolate)) this.#giveUp(entry);
    await this.pass(ROW_WAITS_MS);
    await Promise.all(this.#ends);
  }

  async pass(ms: number): Promise<void> {
    this.world.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }

  /** How many requests are in these states, without sub-calls, which the scheduler does not count. */
  count(...states: RequestState[]): number {
    const live = ISOLATES.flatMap((isolate) => this.world.admission.liveOf(isolate));
    return live.filter(({ state, request }) => !isSubCall(request) && states.includes(state)).length;
  }

  #isolate(isolate: string, what: "lose" | "quiet"): void {
    const { admission } = this.world;
    if (what === "lose") for (const entry of admission.liveOf(isolate)) this.#giveUp(entry);
    else {
      this.#quiet.add(isolate);
      admission.quiet(isolate);
    }
  }

  #about(known: Known, one: Extract<Step, { who: number }>): void {
    const { admission } = this.world;
    const state = this.world.stateOf(known.id, known.isolate);
    if (one.type === "end") {
      const row = { ...known.request.row, status_code: 200 };
      known.wasServed ||= !this.#rowIsWritten(known);
      if (state === "running") known.charged = Math.max(known.charged, one.tokens);
      // What it used beyond its estimate counts, as long as its row has waited.
      else if (state === null && known.isCharged && Date.now() < known.lostUntilMs)
        known.charged = Math.max(known.charged, one.tokens);
      known.lostUntilMs = 0;
      known.hasRow = true;
      this.#ends.push(admission.end({ row, actualTokens: one.tokens }));
    } else if (one.type === "depart") {
      if (state === "running") known.charged = Math.max(known.charged, ESTIMATE);
      if (state === "running") known.isCharged = true;
      if (state !== null) known.lostUntilMs = Date.now() + ROW_WAITS_MS;
      admission.giveUp(known.id);
    } else {
      this.#quiet.delete(known.isolate);
      if (one.type === "wait") {
        // A sub-call waits for nothing.
        if (!known.isSubCall) admission.waits(known.id);
      } else if (one.type === "return") {
        known.isCharged ||= this.#rowIsWritten(known);
        admission.comeBack({ ...known.request, waitedMs: 0 }, known.isolate);
        known.hasRow = true;
      } else {
        if (one.type === "ask again") {
          // Its records were read again, or are those that the isolate had.
          const request = one.isRead ? this.#requestOf(known.id, known.tenant, known.isSubCall) : known.request;
          const model = { ...request.model, name: known.isSubCall ? request.model.name : one.model };
          known.request = { ...request, model, waitedMs: 0, anew: one.anew };
        }
        this.#ask(known);
      }
    }
  }

  #ask(known: Known): void {
    known.isCharged ||= this.#rowIsWritten(known);
    this.#quiet.delete(known.isolate);
    const answer = this.world.admission.ask(known.request, known.isolate);
    if (answer !== null && answer.verdict !== "stale") known.hasRow = true;
  }

  #giveUp(entry: AdmissionEntry): void {
    const known = this.known.find(({ id }) => id === entry.request.requestId);
    if (known !== undefined && entry.state === "running") known.charged = Math.max(known.charged, ESTIMATE);
    if (known !== undefined && entry.state === "running") known.isCharged = true;
    if (known !== undefined) known.lostUntilMs = Date.now() + ROW_WAITS_MS;
    this.world.admission.giveUp(entry.request.requestId);
  }

  #decided({ member, request, state }: AdmissionEntry, verdict: string): void {
    if (verdict !== "granted") return;
    if (state !== "running") this.wrong.push(`${request.requestId} is granted and ${state}`);
    if (this.#quiet.has(member)) this.wrong.push(`${request.requestId} of a quiet isolate is granted`);
    if (this.world.revisions.staleAmong(request.revs).length > 0)
      this.wrong.push(`${request.requestId} is granted on old records`);
  }

  #rowIsWritten({ id }: Known): boolean {
    return this.world.rows.some((row) => row.request_id === id);
  }

  #requestOf(id: string, tenant: number, isSub: boolean): AdmissionRequest {
    const revs = [{ kind: "tenant", id: `t${tenant}`, rev: this.#revs[tenant] ?? 0 }] as const;
    const request = admissionRequestOf(id, `t${tenant}`, { revs }, CAPS[tenant]);
    return isSub ? subCallOf(request) : request;
  }
}

const algorithms = fc.constantFrom("weighted" as const, "hierarchical" as const);

it("grants no slot above its cap, and knows each request in one state, under any messages", async () => {
  await fc.assert(
    fc.asyncProperty(
      algorithms,
      fc.array(fc.oneof(step, reach), { maxLength: 80, size: "max" }),
      async (algorithm, steps) => {
        const history = new History(algorithm);
        const { scheduler } = history.world;
        for (const one of steps) {
          const before = scheduler.inFlight;
          await history.take(one);
          if (one.type !== "return")
            expect(scheduler.inFlight).toBeLessThanOrEqual(Math.max(before, scheduler.maxInFlight));
          expect(history.count("reserving", "running")).toBe(scheduler.inFlight);
          expect(history.count("waiting")).toBeLessThanOrEqual(scheduler.queued);
          // One whose place was lost is checked again before it has another one.
          expect(history.count("waiting", "stale")).toBeGreaterThanOrEqual(scheduler.queued);
          expect(history.wrong).toEqual([]);
        }
      },
    ),
    { numRuns: propertyRuns(300) },
  );
});

it("leaves no request behind: each has one row, that of its answer, and holds nothing", async () => {
  await fc.assert(
    fc.asyncProperty(
      algorithms,
      fc.array(fc.oneof(step, reach), { maxLength: 80, size: "max" }),
      async (algorithm, steps) => {
        const history = new History(algorithm);
        const { world, known } = history;
        for (const one of steps) await history.take(one);
        await history.finish();
        expect(world.load).toEqual({ inFlight: 0, queued: 0, entries: 0 });
        const withRows = known.filter(({ hasRow }) => hasRow);
        expect(world.rows.map((row) => row.request_id).sort()).toEqual(withRows.map(({ id }) => id).sort());
        const served = new Set(known.filter(({ wasServed }) => wasServed).map(({ id }) => id));
        for (const { request_id: id, status_code } of world.rows)
          expect({ id, status: status_code }).toEqual({ id, status: served.has(id) ? 200 : 499 });
        world.budgets.reach = "up";
        for (let second = 0; second < 30; second += 1) await history.pass(1_000);
        for (const tenant of TENANTS) expect(budgetOf(world, tenant).reserved).toEqual(NOTHING_RESERVED);
      },
    ),
    { numRuns: propertyRuns(300) },
  );
});

it("charges each request once: its use, or the larger estimate of one that was given up", async () => {
  await fc.assert(
    fc.asyncProperty(algorithms, fc.array(step, { maxLength: 60, size: "max" }), async (algorithm, steps) => {
      const history = new History(algorithm);
      for (const one of steps) await history.take(one);
      await history.finish();
      for (let second = 0; second < 30; second += 1) await history.pass(1_000);
      for (const tenant of TENANTS) {
        const charged = history.known.filter((known) => known.tenant === tenant).map((known) => known.charged);
        const { account } = budgetOf(history.world, tenant);
        expect({ tenant, tokens: account.usedTokens }).toEqual({
          tenant,
          tokens: charged.reduce((sum, tokens) => sum + tokens, 0),
        });
      }
    }),
    { numRuns: propertyRuns(300) },
  );
});

const NOTHING_RESERVED = { bucketTokens: 0, requests: 0, termTokens: 0, nanoUsd: 0 };

/** The budget object's state of a tenant. */
function budgetOf({ budgets, nowMs }: AdmissionHarness, tenant: number) {
  const { limits } = admissionRequestOf("any", `t${tenant}`, {}, CAPS[tenant]);
  return budgets.core(`t${tenant}`).read("tenant", limits, nowMs);
}

it("throws for a step that the table of states lacks, and for no other", () => {
  const states: RequestState[] = [...new Set(Object.values(STEPS).flatMap(({ from, to }) => [...from, to]))];
  const request = admissionRequestOf("r", "t0");
  for (const event of Object.keys(STEPS) as RequestEvent[])
    for (const state of states) {
      const entry = { request, state, row: zeroUsageRow("r", 0) } as unknown as AdmissionEntry;
      const { from, to } = STEPS[event];
      const isKnown = from.some((one) => one === state);
      if (isKnown) move(entry, event);
      else expect(() => move(entry, event)).toThrow(`"${event}" cannot happen to a request that is ${state}`);
      expect(entry.state).toBe(isKnown ? to : state);
    }
});
