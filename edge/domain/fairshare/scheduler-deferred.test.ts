/**
 * Requests that are checked again at their turn (docs/rules/admission.md#checked-again): they keep their places, and the slot
 * goes to the next request meanwhile.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { createScheduler } from "./scheduler.ts";
import type { Arrival, Scheduler } from "./types.ts";

const ALGORITHMS = ["weighted", "hierarchical"] as const;

interface Caps {
  readonly tenant?: number | null;
  readonly model?: number | null;
}

function arrivalOf(requestId: string, tenant: string, caps: Caps = {}, model = "m"): Arrival {
  return {
    requestId,
    tenant: { id: tenant, name: tenant, weight: 100, maxInFlight: caps.tenant ?? null },
    group: { name: "g", weight: 100 },
    model: { name: model, admissionWeight: 100, maxInFlight: caps.model ?? null },
    costTokens: 100,
  };
}

/** A scheduler with a grant check: the test names the requests that may not be granted anything. */
class DeferringWorld {
  readonly stale = new Set<string>();
  /** Requests of silent isolates. */
  readonly unheard = new Set<string>();
  readonly #deferred: string[] = [];
  readonly scheduler: Scheduler;
  nowMs = 0;

  constructor(algorithm: FairshareAlgorithm, maxInFlight: number) {
    const grantCheck = {
      mayHave: (requestId: string) => !this.stale.has(requestId) && !this.unheard.has(requestId),
      isUnheard: (requestId: string) => this.unheard.has(requestId),
    };
    this.scheduler = createScheduler({ algorithm, maxInFlight, grantCheck });
  }

  /** Every request that was deferred so far. */
  get deferred(): string[] {
    this.#deferred.push(...this.scheduler.takeDeferred());
    return this.#deferred;
  }

  arrive(requestId: string, tenant: string, caps?: Caps, model?: string): string[] {
    const arrival = arrivalOf(requestId, tenant, caps, model);
    return this.scheduler.apply({ type: "arrive", arrival }, this.nowMs).map((grant) => grant.requestId);
  }

  /** Comes back with new records. */
  returns(requestId: string, tenant: string, caps?: Caps, model?: string): string[] {
    this.stale.delete(requestId);
    this.unheard.delete(requestId);
    return this.arrive(requestId, tenant, caps, model);
  }

  release(requestId: string, actualTokens = 100): string[] {
    return this.scheduler
      .apply({ type: "release", requestId, actualTokens }, this.nowMs)
      .map((grant) => grant.requestId);
  }
}

describe.each(ALGORITHMS)("a waiter whose records changed (%s)", (algorithm) => {
  it("is deferred at its turn, not before, and its slot goes to the next of any tenant", () => {
    const world = new DeferringWorld(algorithm, 1);
    for (const id of ["a1", "a2", "a3"]) world.arrive(id, "a");
    world.stale.add("a2");
    expect(world.deferred).toEqual([]);
    expect({ granted: world.release("a1"), deferred: world.deferred }).toEqual({ granted: ["a3"], deferred: ["a2"] });
    expect({ inFlight: world.scheduler.inFlight, queued: world.scheduler.queued }).toEqual({
      inFlight: 1,
      queued: 1,
    });
  });

  it("comes back to its place, ahead of all that came after it, with the time that it has waited", () => {
    const world = new DeferringWorld(algorithm, 1);
    for (const id of ["a1", "a2", "a3", "a4"]) world.arrive(id, "a");
    world.stale.add("a2");
    world.release("a1");
    world.nowMs = 40;
    expect(world.returns("a2", "a")).toEqual([]);
    const grants = world.scheduler.apply({ type: "release", requestId: "a3", actualTokens: 100 }, 70);
    expect(grants).toEqual([{ requestId: "a2", admission: "queued", queueWaitMs: 70 }]);
  });

  it("that finds a free slot when it is back is not fast: it has waited", () => {
    const world = new DeferringWorld(algorithm, 1);
    world.arrive("a1", "a");
    world.arrive("a2", "a");
    world.stale.add("a2");
    expect(world.release("a1")).toEqual([]);
    world.nowMs = 5;
    world.stale.clear();
    const grants = world.scheduler.apply({ type: "arrive", arrival: arrivalOf("a2", "a") }, 5);
    expect(grants).toEqual([{ requestId: "a2", admission: "queued", queueWaitMs: 5 }]);
  });

  it("is deferred only as slots come free, so that a long queue comes back one by one in order", () => {
    const world = new DeferringWorld(algorithm, 2);
    const ids = Array.from({ length: 50 }, (_, at) => `a${at}`);
    for (const id of ids) world.arrive(id, "a");
    for (const id of ids) world.stale.add(id);
    const order: string[] = [];
    const running = ["a0", "a1"];
    while (world.scheduler.queued > 0) {
      const granted = world.release(running.shift() ?? "");
      const away = world.deferred.filter((id) => world.stale.has(id));
      expect(away.length).toBeLessThanOrEqual(2);
      for (const id of away) granted.push(...world.returns(id, "a"));
      running.push(...granted);
      order.push(...granted);
    }
    expect(order).toEqual(ids.slice(2));
  });

  it.each([
    { cap: "its tenant", caps: { tenant: 1, model: null } },
    { cap: "its model", caps: { tenant: null, model: 1 } },
  ])("is deferred only as slots of $cap come free", ({ caps }) => {
    const world = new DeferringWorld(algorithm, 100);
    const ids = Array.from({ length: 20 }, (_, at) => `a${at}`);
    for (const id of ids) world.arrive(id, "a", caps);
    for (const id of ids) world.stale.add(id);
    const order: string[] = [];
    for (let running = "a0"; order.length < ids.length - 1; running = order.at(-1) ?? "") {
      const granted = world.release(running);
      const away = world.deferred.splice(0);
      expect({ granted, away: away.length }).toEqual({ granted: [], away: 1 });
      order.push(...world.returns(away[0] ?? "", "a", caps));
    }
    expect(order).toEqual(ids.slice(1));
  });

  it("holds up no request whose records have not changed", () => {
    const world = new DeferringWorld(algorithm, 1);
    world.arrive("a1", "a");
    for (let at = 1; at < 40; at += 1) world.stale.add(`c${at}`);
    for (let at = 1; at < 40; at += 1) world.arrive(`c${at}`, "c");
    world.arrive("b1", "b");
    expect(world.release("a1")).toEqual(["b1"]);
    expect(world.deferred).toEqual(["c1"]);
  });

  it("that leaves or is refused while it is deferred makes room for the next one", () => {
    const world = new DeferringWorld(algorithm, 1);
    for (const id of ["a1", "a2", "a3"]) world.arrive(id, "a");
    world.stale.add("a2").add("a3");
    world.release("a1");
    expect(world.scheduler.apply({ type: "leave", requestId: "a2" }, 1)).toEqual([]);
    expect({ deferred: world.deferred, queued: world.scheduler.queued }).toEqual({
      deferred: ["a2", "a3"],
      queued: 1,
    });
    world.scheduler.apply({ type: "leave", requestId: "a3" }, 1);
    expect({ queued: world.scheduler.queued, queuedOfTenant: world.scheduler.queuedOf("a") }).toEqual({
      queued: 0,
      queuedOfTenant: 0,
    });
  });

  it("has banked nothing and lost nothing: it is served as if it had waited all along", () => {
    const world = new DeferringWorld(algorithm, 1);
    world.arrive("a1", "a");
    world.arrive("a2", "a");
    for (let at = 1; at <= 10; at += 1) world.arrive(`b${at}`, "b");
    world.stale.add("a2");
    const before = world.release("a1");
    world.release(before[0] ?? "");
    expect(world.returns("a2", "a")).toEqual([]);
    const [tenant] = world.scheduler.snapshot(0).tenants;
    expect(tenant).toMatchObject({ tenantId: "a", queued: 1, servedTokens: 100 });
  });

  it("may be granted first and deferred then: its charge is undone and its slot goes to the next", () => {
    const world = new DeferringWorld(algorithm, 1);
    world.arrive("a1", "a");
    world.arrive("a2", "a");
    const grants = world.scheduler.apply({ type: "defer", requestId: "a1" }, 3);
    expect(grants.map((grant) => grant.requestId)).toEqual(["a2"]);
    expect(world.scheduler.snapshot(0).tenants[0]).toMatchObject({ inFlight: 1, queued: 1, servedTokens: 100 });
    expect(world.returns("a1", "a")).toEqual([]);
    expect(world.release("a2")).toEqual(["a1"]);
    expect(world.scheduler.apply({ type: "defer", requestId: "unknown" }, 3)).toEqual([]);
  });
});

describe("a request that waited before a reset", () => {
  it("is queued, not fast, and its wait continues", () => {
    const scheduler = createScheduler({ algorithm: "weighted", maxInFlight: 1 });
    const grants = scheduler.apply({ type: "arrive", arrival: arrivalOf("a", "a"), waitedMs: 250 }, 1000);
    expect(grants).toEqual([{ requestId: "a", admission: "queued", queueWaitMs: 250 }]);
  });

  it("comes before all that arrived since, the oldest first, in whatever order they are heard of", () => {
    const scheduler = createScheduler({ algorithm: "weighted", maxInFlight: 1 });
    const arrive = (requestId: string, nowMs: number, waitedMs: number | null) =>
      scheduler.apply({ type: "arrive", arrival: arrivalOf(requestId, "a"), waitedMs }, nowMs);
    arrive("runs", 1000, null);
    arrive("new", 1001, null);
    arrive("young", 1002, 40);
    arrive("old", 1003, 300);
    arrive("as old", 1003, 300);
    const order: string[] = [];
    for (let last = "runs"; scheduler.queued > 0; last = order.at(-1) ?? "") {
      const grants = scheduler.apply({ type: "release", requestId: last, actualTokens: 100 }, 1004);
      order.push(...grants.map(({ requestId }) => requestId));
    }
    expect(order).toEqual(["old", "as old", "young", "new"]);
  });
});

describe.each(ALGORITHMS)("any trace with records that change (%s)", (algorithm) => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("arrive" as const), tenant: fc.nat(2), model: fc.nat(1) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("release" as const), pick: fc.nat(99) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("change" as const), tenant: fc.nat(2) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("return" as const), pick: fc.nat(99) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), pick: fc.nat(99) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("defer" as const), pick: fc.nat(99) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("fall silent" as const), pick: fc.nat(99) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("move" as const), tenant: fc.nat(2), group: fc.nat(1) }) },
  );

  it("grants no stale or unheard request, waits for no unheard one, and serves all in the end", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: "max" }), (steps) => {
        const world = new DeferringWorld(algorithm, 2);
        const tenants = new Map<string, { readonly tenant: string; readonly model: string }>();
        const away: string[] = [];
        const running: string[] = [];
        const left = new Set<string>();
        const take = (granted: readonly string[]): void => {
          for (const id of granted) {
            expect({ isStale: world.stale.has(id), isUnheard: world.unheard.has(id) }).toEqual({
              isStale: false,
              isUnheard: false,
            });
            expect([...running, ...away]).not.toContain(id);
            running.push(id);
          }
          away.push(...world.deferred.splice(0));
          expect(world.scheduler.inFlight).toBe(running.length);
          expect(world.scheduler.queued).toBe(tenants.size - left.size - running.length);
          if (running.length === 2) return;
          // A slot is free: a tenant that may have it and still waits has a request that is being checked again.
          for (const [id, { tenant, model }] of tenants) {
            if (model !== "m0" || [...running, ...away, ...left].includes(id) || !mayHave(id)) continue;
            const beingChecked = away.filter((other) => tenants.get(other)?.tenant === tenant);
            expect(beingChecked.some((other) => !world.unheard.has(other))).toBe(true);
          }
        };
        const mayHave = (id: string): boolean => !world.stale.has(id) && !world.unheard.has(id);
        const arrive = (id: string): void => {
          const { tenant = "", model = "" } = tenants.get(id) ?? {};
          take(world.returns(id, tenant, model === "m1" ? { model: 1 } : {}, model));
        };
        const one = (from: string[], at: number): string | undefined =>
          from.splice(at % Math.max(1, from.length), 1)[0];
        const release = (id: string | undefined): void => {
          if (id === undefined) return;
          left.add(id);
          take(world.release(id));
        };
        for (const [at, given] of steps.entries()) {
          if (given.kind === "arrive") {
            const id = `r${at}`;
            tenants.set(id, { tenant: `t${given.tenant}`, model: `m${given.model}` });
            arrive(id);
          } else if (given.kind === "release") release(one(running, given.pick));
          else if (given.kind === "change") {
            for (const [id, { tenant }] of tenants)
              if (tenant === `t${given.tenant}` && !running.includes(id) && !left.has(id)) world.stale.add(id);
          } else if (given.kind === "return") {
            const id = one(away, given.pick);
            if (id !== undefined) arrive(id);
          } else if (given.kind === "leave") {
            const waiting = [...tenants.keys()].filter((id) => !running.includes(id) && !left.has(id));
            const requestId = one(waiting, given.pick);
            if (requestId === undefined) continue;
            left.add(requestId);
            if (away.includes(requestId)) away.splice(away.indexOf(requestId), 1);
            const grants = world.scheduler.apply({ type: "leave", requestId }, 0);
            take(grants.map((grant) => grant.requestId));
          } else if (given.kind === "defer") {
            const requestId = one(running, given.pick);
            if (requestId === undefined) continue;
            away.push(requestId);
            const grants = world.scheduler.apply({ type: "defer", requestId }, 0);
            take(grants.map((grant) => grant.requestId));
          } else if (given.kind === "fall silent") {
            const waiting = [...tenants.keys()].filter((id) => !running.includes(id) && !left.has(id));
            const requestId = one(waiting, given.pick);
            if (requestId === undefined) continue;
            world.unheard.add(requestId);
            const grants = world.scheduler.apply({ type: "unheard", requestId }, 0);
            take(grants.map((grant) => grant.requestId));
          } else {
            const group = { name: `g${given.group}`, weight: 100 };
            const grants = world.scheduler.apply({ type: "tenant", id: `t${given.tenant}`, group }, 0);
            take(grants.map((grant) => grant.requestId));
          }
        }
        for (let turns = 0; left.size < tenants.size; turns += 1) {
          expect(turns).toBeLessThan(1000);
          const back = one(away, 0);
          if (back !== undefined) arrive(back);
          else release(one(running, 0));
        }
        expect({ inFlight: world.scheduler.inFlight, queued: world.scheduler.queued }).toEqual({
          inFlight: 0,
          queued: 0,
        });
        expect(world.scheduler.snapshot(0).groups.map((group) => group.queued)).toEqual(
          world.scheduler.snapshot(0).groups.map(() => 0),
        );
      }),
      { numRuns: 300 },
    );
  });
});
