/**
 * Sub-calls in a Cell (docs/rules/settlement-and-rows.md#sub-calls): the requests of a history with sub-calls have the slots,
 * places and grants that they have without them, and every sub-call is charged once, no matter which lives of the Cell knew it.
 */
import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { type UsageRow, zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { AdmissionHarness, type AskedRequest } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf, subCallOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import { budgetRequestOf } from "../../../test/harness/edge/cell/budget-gateway.ts";
import { CellLives } from "../../../test/harness/edge/cell/cell-lives.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";

beforeEach(() => vi.useFakeTimers());

const requestStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("arrive" as const), tenant: fc.nat(2), model: fc.nat(1) }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constantFrom("end" as const, "depart" as const), who: fc.nat(99) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("capacity" as const), max: fc.nat(4) }) },
);
const subCallStep = fc.oneof(
  fc.record({
    type: fc.constant("begin" as const),
    tenant: fc.nat(2),
    model: fc.nat(1),
    waitedMs: fc.option(fc.nat(9)),
  }),
  fc.record({
    type: fc.constantFrom("end" as const, "depart" as const, "again" as const, "return" as const),
    who: fc.nat(99),
  }),
);
const history = fc.array(fc.oneof(fc.record({ request: requestStep }), fc.record({ subCall: subCallStep })), {
  maxLength: 60,
});

/** A request of one of three capped tenants, for one of two capped models. */
function requestOf(id: string, tenant: number, model: number) {
  const known = admissionRequestOf(id, `t${tenant}`);
  return {
    ...known,
    tenant: { ...known.tenant, maxInFlight: tenant + 1 },
    model: { ...known.model, name: `m${model}`, maxInFlight: model + 1 },
  };
}

/** Requests of a history, in one Cell. */
class Requests {
  readonly harness: AdmissionHarness;
  readonly #requests: AskedRequest[] = [];
  readonly #subCalls: AskedRequest[] = [];

  constructor(algorithm: "weighted" | "hierarchical") {
    this.harness = new AdmissionHarness(algorithm, 2);
  }

  step(step: typeof requestStep extends fc.Arbitrary<infer T> ? T : never): void {
    const { admission, ask } = this.harness;
    if (step.type === "arrive") {
      const id = `r${this.#requests.length}`;
      this.#requests.push(ask(requestOf(id, step.tenant, step.model)));
    } else if (step.type === "capacity") admission.apply({ type: "capacity", maxInFlight: step.max });
    else this.#leave(this.#requests, step.type, step.who);
  }

  subCall(step: typeof subCallStep extends fc.Arbitrary<infer T> ? T : never): void {
    const { admission, ask } = this.harness;
    if (step.type === "begin") {
      const made = subCallOf(requestOf(`s${this.#subCalls.length}`, step.tenant, step.model));
      this.#subCalls.push(ask({ ...made, waitedMs: step.waitedMs }));
      return;
    }
    if (step.type === "end" || step.type === "depart") {
      this.#leave(this.#subCalls, step.type, step.who);
      return;
    }
    const known = this.#subCalls[step.who % Math.max(1, this.#subCalls.length)];
    if (known === undefined) return;
    if (step.type === "again") ask({ ...known.request, waitedMs: 0 });
    else admission.comeBack({ ...known.request, waitedMs: 0 }, "isolate");
  }

  /** The requests' results, and an operator's view of the slots. */
  seen(): unknown {
    const { scheduler, nowMs } = this.harness;
    return [this.#requests.map(({ decision, state }) => ({ decision, state })), scheduler.snapshot(nowMs)];
  }

  /** Gives up every sub-call; returns how many rows each has in the end. */
  async endSubCalls(): Promise<readonly number[]> {
    const { admission, rows } = this.harness;
    for (const { request } of this.#subCalls) admission.giveUp(request.requestId);
    await vi.advanceTimersByTimeAsync(6_000);
    return this.#subCalls.map(({ request }) => rows.filter((row) => row.request_id === request.requestId).length);
  }

  #leave(requests: readonly AskedRequest[], how: "end" | "depart", who: number): void {
    const one = requests[who % Math.max(1, requests.length)];
    if (one === undefined) return;
    if (how === "end") void this.harness.end(one, 7);
    else this.harness.admission.giveUp(one.request.requestId);
  }
}

it("leaves slots, places, scores and grants of all requests as they are without it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("weighted" as const, "hierarchical" as const),
      history,
      async (algorithm, steps) => {
        const [mixed, plain] = [new Requests(algorithm), new Requests(algorithm)];
        for (const step of steps) {
          mixed.harness.nowMs += 1;
          plain.harness.nowMs += 1;
          if ("subCall" in step) mixed.subCall(step.subCall);
          else for (const each of [mixed, plain]) each.step(step.request);
          expect(mixed.seen()).toEqual(plain.seen());
        }
        expect((await mixed.endSubCalls()).every((rows) => rows === 1)).toBe(true);
        expect(mixed.seen()).toEqual(plain.seen());
        expect(mixed.harness.load).toEqual(plain.harness.load);
      },
    ),
  );
});

/** The final use of the sub-call: more than the estimate at which it is settled if it is lost. */
const ROW: UsageRow = {
  ...zeroUsageRow("s", 0),
  status_code: 200,
  total_tokens: 35,
  cost_usd: 0.75,
  admission: "boon",
};
const NOTHING_RESERVED = { bucketTokens: 0, requests: 0, termTokens: 0, nanoUsd: 0 };

it.each([
  ["with caps", limitsWith({ tokensPerMinute: 100_000, tenantTokens: 1_000_000 })],
  ["whose budgets are used up", limitsWith({ tokensPerMinute: 10, tenantTokens: 1 })],
  ["without caps", limitsWith({})],
])("is charged once to a tenant %s, over any lives of its Cell", async (_, limits) => {
  const need = { bucketTokens: 10, termTokens: 10, nanoUsd: 10 };
  const estimate = { inputTokens: 10, outputTokens: 20, costUsd: 0.25 };
  const first = subCallOf({ ...budgetRequestOf("s", limits, need), estimate });
  const steps = fc.array(
    fc.record({
      type: fc.constantFrom("pass" as const, "lost" as const, "reset" as const),
      asks: fc.boolean(),
      twice: fc.boolean(),
    }),
    { maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const lives = new CellLives(limits);
      lives.admission.ask(first, "isolate");
      for (const { type, asks, twice } of history) {
        if (type === "pass") {
          await lives.pass();
          continue;
        }
        if (type === "lost") lives.admission.giveUp("s");
        else lives.begin();
        // Its isolate names it, or asks again because the answer was lost.
        const again = { ...first, waitedMs: 0 };
        for (let times = twice ? 2 : 1; times > 0; times -= 1)
          if (asks) lives.admission.ask(again, "isolate");
          else lives.admission.comeBack(again, "isolate");
      }
      await lives.admission.end({ row: ROW, actualTokens: 35 });
      await lives.pass(60_000);
      expect(lives.tenant).toMatchObject({
        account: { usedTokens: 35, usedNanoUsd: 750_000_000 },
        reserved: NOTHING_RESERVED,
      });
    }),
    { numRuns: propertyRuns(60) },
  );
});
