/**
 * On any trace the scheduler grants what docs/rules/fairshare.md#choosing-the-next says, word for word: it is compared
 * with a slow reference.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { ReferenceScheduler } from "./reference.test-helper.ts";
import { createScheduler } from "./scheduler.ts";
import type { SchedulerEvent } from "./types.ts";

const TENANTS = 5;
const MODELS = 4;
const pick = fc.nat(1000);
const cap = fc.option(fc.integer({ min: 1, max: 3 }), { nil: null });
const weight = fc.constantFrom(1, 10, 50, 100, 300, 1000);
const admissionWeight = fc.constantFrom(1, 50, 100, 250);
const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant("arrive" as const),
      tenant: fc.nat(TENANTS - 1),
      model: fc.nat(MODELS - 1),
      cost: fc.integer({ min: 1, max: 500 }),
    }),
  },
  { weight: 7, arbitrary: fc.record({ kind: fc.constant("release" as const), pick, actual: fc.nat(600) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("capacity" as const), max: fc.integer({ min: 1, max: 8 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("tenant" as const),
      tenant: fc.nat(TENANTS - 1),
      weight,
      cap,
      group: fc.nat(2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("group" as const), group: fc.nat(2), weight }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("model" as const), model: fc.nat(MODELS - 1), admissionWeight, cap }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer Given> ? Given : never;

const PLAIN = { weight: 100, maxInFlight: null, group: 0 } as const;

/** Turns steps into events: records keep the values given last, requests are picked among those that wait or run. */
class Trace {
  readonly waiting: string[] = [];
  readonly running: string[] = [];
  readonly #tenants = Array.from({ length: TENANTS }, (_, at) => ({
    weight: 100,
    maxInFlight: null as number | null,
    group: at % 3,
  }));
  readonly #groups = [100, 100, 100];
  readonly #models = Array.from({ length: MODELS }, () => ({
    admissionWeight: 100,
    maxInFlight: null as number | null,
  }));
  #made = 0;

  event(given: Step): SchedulerEvent | null {
    switch (given.kind) {
      case "arrive": {
        this.#made += 1;
        const requestId = `r${this.#made}`;
        const { weight: own, maxInFlight, group } = this.#tenants[given.tenant] ?? PLAIN;
        const id = `t${given.tenant}`;
        const model = this.#models[given.model] ?? { admissionWeight: 100, maxInFlight: null };
        this.waiting.push(requestId);
        return {
          type: "arrive",
          arrival: {
            requestId,
            tenant: { id, name: id, weight: own, maxInFlight },
            group: this.#group(group),
            model: { name: `m${given.model}`, ...model },
            costTokens: given.cost,
          },
        };
      }
      case "release": {
        const [requestId] = this.running.splice(given.pick % Math.max(1, this.running.length), 1);
        return requestId === undefined ? null : { type: "release", requestId, actualTokens: given.actual };
      }
      case "leave": {
        const [requestId] = this.waiting.splice(given.pick % Math.max(1, this.waiting.length), 1);
        return requestId === undefined ? null : { type: "leave", requestId };
      }
      case "capacity":
        return { type: "capacity", maxInFlight: given.max };
      case "tenant":
        this.#tenants[given.tenant] = { weight: given.weight, maxInFlight: given.cap, group: given.group };
        return {
          type: "tenant",
          id: `t${given.tenant}`,
          weight: given.weight,
          maxInFlight: given.cap,
          group: this.#group(given.group),
        };
      case "group":
        this.#groups[given.group] = given.weight;
        return { type: "group", ...this.#group(given.group) };
      case "model":
        this.#models[given.model] = { admissionWeight: given.admissionWeight, maxInFlight: given.cap };
        return {
          type: "model",
          name: `m${given.model}`,
          admissionWeight: given.admissionWeight,
          maxInFlight: given.cap,
        };
      default:
        return given satisfies never;
    }
  }

  granted(ids: readonly string[]): void {
    for (const id of ids) {
      this.waiting.splice(this.waiting.indexOf(id), 1);
      this.running.push(id);
    }
  }

  #group(at: number) {
    return { name: `g${at}`, weight: this.#groups[at] ?? 100 };
  }
}

describe.each(["weighted", "hierarchical"] as const)("any trace (%s)", (algorithm) => {
  it("is granted in the order of the reference", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: "max" }), (steps) => {
        const scheduler = createScheduler({ algorithm, maxInFlight: 4 });
        const reference = new ReferenceScheduler(algorithm, 4);
        const trace = new Trace();
        for (const [at, given] of steps.entries()) {
          const event = trace.event(given);
          if (event === null) continue;
          const granted = scheduler.apply(event, at).map((grant) => grant.requestId);
          expect(granted).toEqual(reference.apply(event));
          trace.granted(granted);
        }
      }),
      { numRuns: propertyRuns(400) },
    );
  });
});
