/**
 * The laws of batches on random histories (docs/rules/batches.md#slots): a line gets only a slot that no waiting request could use,
 * no limit is exceeded, and what requests are granted does not depend on lines that wait.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { createScheduler } from "./scheduler.ts";
import type { Arrival, SchedulerEvent } from "./types.ts";

const SLOTS = 8;
const ALGORITHMS = ["weighted", "hierarchical"] as const;
const TENANT_CAPS: Readonly<Record<string, number | null>> = { a: null, b: 2, c: null };
const MODEL_CAPS: Readonly<Record<string, number | null>> = { plenty: null, scarce: 3 };

function arrivalOf(requestId: string, tenant: string, model: string, batch: boolean): Arrival {
  return {
    requestId,
    tenant: { id: tenant, name: tenant, weight: tenant === "a" ? 300 : 100, maxInFlight: TENANT_CAPS[tenant] ?? null },
    group: { name: tenant === "c" ? "other" : "default", weight: 100 },
    model: { name: model, admissionWeight: 100, maxInFlight: MODEL_CAPS[model] ?? null },
    costTokens: 100,
    batch,
  };
}

const stepArb = fc.oneof(
  fc.record({
    kind: fc.constant("arrive" as const),
    tenant: fc.constantFrom("a", "b", "c"),
    model: fc.constantFrom("plenty", "scarce"),
    batch: fc.boolean(),
  }),
  fc.record({ kind: fc.constantFrom("release" as const, "leave" as const, "defer" as const), at: fc.nat(30) }),
);

describe.each(ALGORITHMS)("lines of batches (%s)", (algorithm) => {
  it("get only slots that no waiting request can use, within all limits", () => {
    fc.assert(
      fc.property(fc.array(stepArb, { maxLength: 120 }), fc.constantFrom(0, 0.5), (steps, headroom) => {
        const scheduler = createScheduler({ algorithm, maxInFlight: SLOTS, headroom });
        const waiting = new Map<string, Arrival>();
        const running = new Map<string, Arrival>();
        let next = 0;
        const held = (matches: (arrival: Arrival) => boolean) => [...running.values()].filter(matches).length;
        const mayHave = ({ tenant, model }: Arrival): boolean =>
          (TENANT_CAPS[tenant.id] ?? SLOTS) > held((other) => other.tenant.id === tenant.id) &&
          (MODEL_CAPS[model.name] ?? SLOTS) > held((other) => other.model.name === model.name);
        const couldRun = (batch: boolean) =>
          [...waiting.values()].filter((arrival) => arrival.batch === batch && mayHave(arrival));
        const apply = (event: SchedulerEvent): void => {
          for (const { requestId, admission } of scheduler.apply(event, next)) {
            const arrival = waiting.get(requestId);
            if (arrival === undefined) throw new Error(`${requestId} does not wait`);
            waiting.delete(requestId);
            expect(admission === "batch").toBe(arrival.batch);
            if (arrival.batch === true) expect(couldRun(false)).toEqual([]);
            running.set(requestId, arrival);
          }
        };
        for (const step of steps) {
          next += 1;
          if (step.kind === "arrive") {
            const arrival = arrivalOf(`r${next}`, step.tenant, step.model, step.batch);
            waiting.set(arrival.requestId, arrival);
            apply({ type: "arrive", arrival });
          } else {
            const pool = [...(step.kind === "leave" ? waiting : running).values()];
            const arrival = pool[step.at % Math.max(1, pool.length)];
            if (arrival === undefined) continue;
            const { requestId } = arrival;
            (step.kind === "leave" ? waiting : running).delete(requestId);
            if (step.kind === "release") apply({ type: "release", requestId, actualTokens: 50 });
            else if (step.kind === "leave") apply({ type: "leave", requestId });
            else {
              apply({ type: "defer", requestId });
              waiting.set(requestId, arrival);
              apply({ type: "arrive", arrival });
            }
          }
          expect(running.size).toBeLessThanOrEqual(SLOTS);
          expect(held(({ model }) => model.name === "scarce")).toBeLessThanOrEqual(3);
          expect(held(({ tenant }) => tenant.id === "b")).toBeLessThanOrEqual(2);
          expect(scheduler.inFlight).toBe(running.size);
          const { batchInFlight, batchQueued, tenants } = scheduler.snapshot(next);
          const inShares = tenants.reduce((sum, { inFlight }) => sum + inFlight, 0);
          expect({ batchInFlight, batchQueued, inShares }).toEqual({
            batchInFlight: held(({ batch }) => batch === true),
            batchQueued: [...waiting.values()].filter(({ batch }) => batch === true).length,
            inShares: held(({ batch }) => batch !== true),
          });
          // No batch line waits while a slot is idle, unless a request waits that fits it.
          const isIdle = running.size < SLOTS - scheduler.headroom;
          if (isIdle && couldRun(false).length === 0) expect(couldRun(true)).toEqual([]);
        }
      }),
      { numRuns: propertyRuns(1600) },
    );
  });

  it("change no share: while requests wait, each is granted as if no line was there", () => {
    const grantsOf = (tenants: readonly string[], withLines: boolean): readonly string[] => {
      const scheduler = createScheduler({ algorithm, maxInFlight: SLOTS });
      const granted: string[] = [];
      const apply = (event: SchedulerEvent): void => {
        for (const { requestId } of scheduler.apply(event, 0)) granted.push(requestId);
      };
      tenants.forEach((tenant, at) => {
        apply({ type: "arrive", arrival: arrivalOf(`r${at}`, tenant, "plenty", false) });
        if (withLines && at >= SLOTS)
          apply({ type: "arrive", arrival: arrivalOf(`line${at}`, tenant, "plenty", true) });
      });
      for (let ended = 0; scheduler.queued > 0; ended += 1)
        apply({ type: "release", requestId: granted[ended] ?? "", actualTokens: 100 });
      return granted.filter((id) => id.startsWith("r"));
    };
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "c"), { minLength: 2 * SLOTS, maxLength: 60 }), (tenants) => {
        expect(grantsOf(tenants, true)).toEqual(grantsOf(tenants, false));
      }),
      { numRuns: propertyRuns(1600) },
    );
  });
});
