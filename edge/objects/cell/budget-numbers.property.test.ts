/**
 * A Cell's budgets against numbers of every kind (docs/rules/budgets.md#amounts): a value that is not an amount is
 * refused where it enters and reported as `budget_amount_refused`, and no such value is ever sent, stored or reported.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { isAmount } from "../../../shared/money/amount.ts";
import { anyNumber, mostlyAmounts } from "../../../test/harness/any-number.ts";
import { type Caps, limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import {
  allFinite,
  budgetGatewayOf,
  budgetRequestOf,
  hasAmounts,
  hasNumbers,
  needOf,
} from "../../../test/harness/edge/cell/budget-gateway.ts";
import { TestBudgets } from "../../../test/harness/edge/cell/test-budgets.ts";
import type { Amounts } from "../../domain/budget/amounts.ts";
import type { BudgetReport, LeaseRequest } from "../../domain/budget/messages/rpc.ts";
import { bucketLevel } from "../../domain/budget/token-bucket.ts";

beforeEach(() => vi.useFakeTimers());

const REJECTED = { code: "budget_check_failed", retryAfterMs: null, level: null };

describe("a request whose numbers are not amounts", () => {
  const fields = ["bucketTokens", "termTokens", "nanoUsd"] as const;

  it("is refused with 503 and reported, even if the check fails open, and requests no lease", () => {
    const notOne = anyNumber.filter((number) => !isAmount(number));
    fc.assert(
      fc.property(fc.constantFrom(...fields), notOne, fc.boolean(), (field, number, capped) => {
        const { gateway, verdicts, alerts } = budgetGatewayOf({
          budgetOf: () => {
            throw new Error("nobody is to be asked");
          },
        });
        const request = budgetRequestOf("r", limitsWith(capped ? { tenantTokens: 100 } : {}), {
          ...needOf(1),
          [field]: number,
        });
        gateway.expect(request);
        gateway.reserve(request);
        expect(verdicts.get("r")).toEqual({ kind: "refused", refusal: REJECTED });
        expect(alerts).toEqual([
          {
            issueKey: "budget_amount_refused",
            title: "Budget amount refused",
            detail: `cell c: need.${field} is out of range (whole numbers from 0 to 9007199254740991); the request is rejected`,
          },
        ]);
        expect(vi.getTimerCount()).toBe(0);
      }),
    );
  });

  it("is refused under invalid limits as well", () => {
    const notOne = anyNumber.filter((number) => !isAmount(number));
    const capOf = fc.constantFrom<readonly (keyof Caps)[]>(
      ["tokensPerMinute"],
      ["tenantTokens"],
      ["tenantNanoUsd"],
      ["keyTokens"],
      ["keyNanoUsd"],
    );
    fc.assert(
      fc.property(capOf, notOne, ([cap], number) => {
        const { gateway, verdicts, alerts } = budgetGatewayOf({
          budgetOf: () => new TestBudgets(Date.now).budgetOf("t"),
        });
        gateway.reserve(budgetRequestOf("r", limitsWith({ [cap as string]: number }), needOf(1)));
        expect(verdicts.get("r")).toEqual({ kind: "refused", refusal: REJECTED });
        expect(alerts.map(({ issueKey }) => issueKey)).toEqual(["budget_amount_refused"]);
      }),
    );
  });
});

describe("whatever numbers enter a Cell's budgets", () => {
  interface Step {
    readonly do: "expect" | "reserve" | "withdraw" | "settle" | "lost" | "adopt" | "readmit";
    readonly id: number;
    readonly need: Amounts;
    readonly caps: Caps;
    readonly used: { readonly tokens: number; readonly nanoUsd: number };
    readonly waitMs: number;
  }
  const cap = fc.oneof(fc.constant(null), mostlyAmounts);
  const steps = fc.array(
    fc.record<Step>({
      do: fc.constantFrom("expect", "reserve", "reserve", "withdraw", "settle", "settle", "lost", "adopt", "readmit"),
      id: fc.nat(5),
      need: fc.record({ bucketTokens: mostlyAmounts, termTokens: mostlyAmounts, nanoUsd: mostlyAmounts }),
      caps: fc.record({
        tokensPerMinute: fc.oneof(fc.constant(0), mostlyAmounts),
        tenantTokens: cap,
        tenantNanoUsd: cap,
        keyTokens: cap,
        keyNanoUsd: cap,
        rev: fc.nat(5),
      }),
      used: fc.record({ tokens: mostlyAmounts, nanoUsd: mostlyAmounts }),
      waitMs: fc.constantFrom(0, 0, 10, 600, 3_000),
    }),
    { maxLength: 30 },
  );

  function play({ gateway }: ReturnType<typeof budgetGatewayOf>, step: Step): void {
    const request = budgetRequestOf(`r${step.id}`, limitsWith(step.caps), step.need);
    if (step.do === "settle") gateway.settle(request, step.used);
    else if (step.do === "lost") gateway.settle(request, step.used, true);
    else gateway[step.do](request);
  }

  it("only amounts are sent, stored, kept and reported, and headers are numbers", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const budgets = new TestBudgets(Date.now);
        const said: (LeaseRequest | BudgetReport)[] = [];
        const gateway = budgetGatewayOf({
          budgetOf: (tenantId) => {
            const real = budgets.budgetOf(tenantId);
            return {
              ...real,
              lease: async (request) => {
                said.push(request);
                return await real.lease(request);
              },
              report: async (report) => {
                said.push(report);
                return await real.report(report);
              },
            };
          },
        });
        for (const step of sequence) {
          play(gateway, step);
          await vi.advanceTimersByTimeAsync(step.waitMs);
        }
        await vi.advanceTimersByTimeAsync(30_000);
        expect(said.every(hasAmounts)).toBe(true);
        const core = budgets.core("tenant-1");
        expect(allFinite(JSON.parse(JSON.stringify(core.checkpoint())))).toBe(true);
        expect([...gateway.verdicts.values()].every(hasNumbers)).toBe(true);
        const limits = limitsWith({ tokensPerMinute: 10, rev: 9 });
        const { account, reserved } = core.read("tenant", limits, Date.now());
        const kept = [account.usedTokens, account.usedNanoUsd, ...Object.values(reserved)];
        expect(kept.every(isAmount)).toBe(true);
        expect(bucketLevel(core.buckets(limits, Date.now()).tenant.tokens)?.limitTokens).toBe(10);
        vi.clearAllTimers();
      }),
      { numRuns: 300 },
    );
  });
});
