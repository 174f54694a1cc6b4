/**
 * The budget object against numbers of every kind (docs/rules/budgets.md#amounts), in lease requests, reports, limits and the
 * ledger's sums: a number that is not an amount is never stored, changes no limit, and is reported.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AMOUNT_MAX, isAmount } from "../../../shared/money/amount.ts";
import { anyNumber } from "../../../test/harness/any-number.ts";
import { message, PLAIN, Played } from "../../../test/harness/budget-messages.ts";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { isNothing, NO_AMOUNTS } from "./amounts.ts";
import type { BudgetReport, LeaseReport, LeaseRequest } from "./messages/rpc.ts";

const EMPTY: BudgetReport = { cell: "a", life: 1, sequence: 0, leases: [], open: [], alertsSeen: [] };
const ONE_OPEN: BudgetReport = { ...EMPTY, open: [1] };

describe("a budget object", () => {
  it("counts, reserves, stores and reports amounts only, whatever it is sent", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 25 }), (messages) => {
        const played = new Played();
        for (const each of messages) {
          played.play(each);
          played.check(PLAIN);
        }
        played.restart();
        played.check(PLAIN);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it("names the invalid number of a lease request, changes nothing and raises an alert", () => {
    const notOne = anyNumber.filter((number) => !isAmount(number));
    const good: LeaseRequest = {
      report: ONE_OPEN,
      limits: PLAIN,
      pool: null,
      n: 1,
      need: NO_AMOUNTS,
      want: NO_AMOUNTS,
    };
    const faulty = (number: number): readonly (readonly [string, LeaseRequest])[] => [
      ["need.nanoUsd", { ...good, need: { ...NO_AMOUNTS, nanoUsd: number } }],
      ["want.termTokens", { ...good, want: { ...NO_AMOUNTS, termTokens: number } }],
      ["n", { ...good, n: number }],
      ["report.life", { ...good, report: { ...ONE_OPEN, life: number } }],
      ["limits.tenant.tokensPerMinute", { ...good, limits: limitsWith({ tokensPerMinute: number }) }],
      ["limits.key.term.nanoUsd", { ...good, limits: limitsWith({ keyNanoUsd: number }) }],
    ];
    fc.assert(
      fc.property(notOne, fc.nat(5), (number, which) => {
        const [field, request] = faulty(number)[which] ?? ["", good];
        const { core, nowMs } = new Played();
        const { answer, grants } = core.lease(request, nowMs);
        expect({ verdict: answer.verdict, grants }).toEqual({ verdict: { kind: "invalid", field }, grants: null });
        expect(core.undelivered).toEqual([
          {
            id: `budget_amount_refused@${nowMs}`,
            issueKey: "budget_amount_refused",
            title: "Budget amount refused",
            detail: expect.stringMatching(/^budget object: .* is out of range .*; .*$/),
          },
        ]);
        expect(core.lease(good, nowMs).answer.verdict).toMatchObject({ kind: "granted", grant: NO_AMOUNTS });
        expect(isNothing(core.read("tenant", PLAIN, nowMs).reserved)).toBe(true);
      }),
    );
  });

  it("leaves out a lease report with an invalid number, and applies the others", () => {
    const { core, nowMs } = new Played();
    const counted = (n: number, tokens: number): LeaseReport => ({
      n,
      pool: null,
      released: NO_AMOUNTS,
      used: [{ limits: PLAIN, tags: { tenant: "l:0", key: "l:0" }, used: { tokens, nanoUsd: 1 } }],
      ended: true,
      opened: { as: "counted", granted: NO_AMOUNTS, from: null },
      request: null,
    });
    const report = { ...EMPTY, sequence: 4, leases: [counted(1, 5), counted(2, Number.NaN), counted(3, 7)] };
    core.report(report, nowMs);
    expect(core.undelivered).toMatchObject([{ issueKey: "budget_amount_refused" }]);
    expect(core.read("tenant", PLAIN, nowMs).account).toMatchObject({ usedTokens: 12, usedNanoUsd: 2 });
  });

  it("closes at the largest amount, and stays closed whatever else is used", () => {
    const full = limitsWith({ tenantNanoUsd: AMOUNT_MAX });
    const { core, nowMs } = new Played();
    const need = { ...NO_AMOUNTS, nanoUsd: AMOUNT_MAX };
    const request = (n: number): LeaseRequest => ({
      report: { ...ONE_OPEN, cell: `cell-${n}` },
      limits: full,
      pool: null,
      n: 1,
      need,
      want: need,
    });
    expect(core.lease(request(1), nowMs).answer.verdict.kind).toBe("granted");
    expect(core.lease(request(2), nowMs).answer.verdict).toEqual({ kind: "refused", reason: "tenant" });
    expect(core.read("tenant", full, nowMs).reserved.nanoUsd).toBe(AMOUNT_MAX);
  });
});
