/**
 * A Cell's budgets against a budget object that answers anything (docs/rules/budgets.md#amounts): the Cell never calls
 * it without end, and nothing that it says is used unless it is a valid answer.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AMOUNT_MAX } from "../../../shared/money/amount.ts";
import { anyNumber, mostlyAmounts } from "../../../test/harness/any-number.ts";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import {
  budgetGatewayOf,
  budgetRequestOf,
  hasAmounts,
  hasNumbers,
  needOf,
} from "../../../test/harness/edge/cell/budget-gateway.ts";
import type { BudgetReport, LeaseRequest } from "../../domain/budget/messages/rpc.ts";

beforeEach(() => vi.useFakeTimers());

/**
 * More calls than this are taken to be an endless loop: the object stops answering, so that the test ends and fails.
 */
const LIMIT = 10_000;

describe("a budget object that answers anything", () => {
  const amounts = fc.record({ bucketTokens: mostlyAmounts, termTokens: mostlyAmounts, nanoUsd: mostlyAmounts });
  const report = fc.record({ stored: mostlyAmounts, alerts: fc.constant([]) });
  const verdict = fc.oneof(
    fc.record({ kind: fc.constant("granted"), grant: amounts, ttlMs: mostlyAmounts, ample: fc.boolean() }),
    fc.record({ kind: fc.constant("refused"), reason: fc.constantFrom("rate", "key", "tenant", "other") }),
    fc.record({ kind: fc.constantFrom("stale", "invalid", "other"), field: fc.constant("need") }),
  );
  const level = fc.oneof(mostlyAmounts, anyNumber);
  const bucket = fc.record({ capTokens: level, levelTokens: level, atMs: anyNumber });
  /** A value in the form of an answer, any value that a message can hold, or a correct answer. */
  const answer = fc.oneof(
    { weight: 3, arbitrary: fc.record({ report, verdict, bucket }) },
    { weight: 6, arbitrary: fc.record({ report: fc.constant("heard"), verdict, bucket }) },
    { weight: 2, arbitrary: fc.constantFrom("granted for 0 ms", "granted for 251 ms") },
    { weight: 2, arbitrary: fc.constant("stale") },
    { weight: 2, arbitrary: fc.constant("never stored") },
    { weight: 1, arbitrary: fc.jsonValue() },
    { weight: 1, arbitrary: fc.constant("failure") },
  );

  /** The object's answers to a message: the same form every time, or the next of a list. */
  function answerTo(given: unknown, message: LeaseRequest | BudgetReport): unknown {
    const asked = "report" in message ? message : null;
    const { sequence } = asked?.report ?? (message as BudgetReport);
    const reportAnswer = { stored: given === "never stored" ? 0 : sequence, alerts: [] };
    const full = { capTokens: 100, levelTokens: 100, atMs: 0 };
    if (given === "failure") throw new Error("beyond reach");
    if (asked === null && (typeof given !== "object" || given === null || !("report" in given))) return reportAnswer;
    if (asked === null) return (given as { report: unknown }).report;
    if (given === "never stored" || given === "stale")
      return { report: reportAnswer, verdict: { kind: "stale" }, bucket: full };
    const [, ttlMs] = /^granted for (\d+) ms$/.exec(String(given)) ?? [];
    if (ttlMs !== undefined)
      return {
        report: reportAnswer,
        verdict: { kind: "granted", grant: asked.need, ttlMs: Number(ttlMs), ample: true },
        bucket: full,
      };
    return typeof given === "object" && given !== null && "report" in given && given.report === "heard"
      ? { ...given, report: reportAnswer }
      : given;
  }

  const arrivals = fc.array(
    fc.record({ tokens: fc.nat(200), expected: fc.boolean(), waitMs: fc.constantFrom(0, 0, 1, 100, 900) }),
    { minLength: 1, maxLength: 12 },
  );

  it("is called no more often than requests come, and a few times a second", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 6 }), arrivals, async (answers, requests) => {
        let calls = 0;
        const said: (LeaseRequest | BudgetReport)[] = [];
        const reply = async (message: LeaseRequest | BudgetReport): Promise<never> => {
          calls += 1;
          said.push(message);
          if (calls > LIMIT) return await new Promise<never>(() => undefined);
          return answerTo(answers[calls % answers.length], message) as never;
        };
        const { gateway, verdicts } = budgetGatewayOf({
          budgetOf: () => ({
            lease: reply,
            report: reply,
            level: async () => null,
            limitsChanged: async () => undefined,
          }),
        });
        const limits = limitsWith({ tokensPerMinute: 1_000, tenantTokens: AMOUNT_MAX });
        for (const [at, { tokens, expected, waitMs }] of requests.entries()) {
          const request = budgetRequestOf(`r${at}`, limits, needOf(tokens));
          if (expected) gateway.expect(request);
          else gateway.reserve(request);
          await vi.advanceTimersByTimeAsync(waitMs);
        }
        const seconds = requests.reduce((sum, { waitMs }) => sum + waitMs, 0) / 1_000;
        // A failed message is sent twice.
        expect(calls).toBeLessThanOrEqual(2 * (4 * requests.length + 12 * seconds + 12));
        for (let second = 0; second < 5; second += 1) {
          const before = calls;
          await vi.advanceTimersByTimeAsync(1_000);
          expect(calls - before).toBeLessThanOrEqual(2 * 12);
        }
        expect(said.every(hasAmounts)).toBe(true);
        expect([...verdicts.values()].every(hasNumbers)).toBe(true);
        // A request that has its slot has got an answer.
        const slots = [...requests.entries()].filter(([, { expected }]) => !expected);
        for (const [at] of slots) expect(verdicts.has(`r${at}`)).toBe(true);
        vi.clearAllTimers();
      }),
      { numRuns: 500 },
    );
  });

  it("is not called again at once after a lease below the need, nor after a refused one", async () => {
    for (const given of ["half", "failure"]) {
      const askedMs: number[] = [];
      let calls = 0;
      const lease = async (message: LeaseRequest): Promise<never> => {
        if (askedMs.at(-1) !== Date.now()) askedMs.push(Date.now());
        calls += 1;
        if (calls > LIMIT) return await new Promise<never>(() => undefined);
        const half = { bucketTokens: 5, termTokens: 5, nanoUsd: 5 };
        const granted = { kind: "granted", grant: half, ttlMs: 2_000, ample: false };
        const reportAnswer = { stored: 0, alerts: [] };
        const answered = {
          report: reportAnswer,
          verdict: granted,
          bucket: { capTokens: 100, levelTokens: 100, atMs: 0 },
        };
        return answerTo(given === "half" ? answered : given, message) as never;
      };
      const report = async (message: BudgetReport): Promise<never> => answerTo("heard", message) as never;
      const { gateway, verdicts, alerts } = budgetGatewayOf({
        budgetOf: () => ({ lease, report, level: async () => null, limitsChanged: async () => undefined }),
      });
      for (let at = 0; at < 100; at += 1) {
        gateway.reserve(budgetRequestOf(`r${at}`, limitsWith({ tokensPerMinute: 100 }), needOf(10)));
        await vi.advanceTimersByTimeAsync(10);
      }
      expect(verdicts.size).toBe(100);
      const between = askedMs.slice(1).map((atMs, at) => atMs - (askedMs[at] ?? 0));
      expect(between.filter((ms) => ms < 250)).toEqual([]);
      expect(askedMs).toHaveLength(4);
      const refused = alerts.some(({ issueKey }) => issueKey === "budget_amount_refused");
      expect(refused).toBe(given === "half");
      vi.clearAllTimers();
    }
  });

  it("that never returns a level has none reported", async () => {
    const levels: unknown[] = [Number.NaN, { limitTokens: 1, remainingTokens: -1, resetMs: 0 }, "level", undefined];
    for (const level of levels) {
      const none = async () => await Promise.reject(new Error("beyond reach"));
      const { gateway } = budgetGatewayOf({
        budgetOf: () => ({ lease: none, report: none, limitsChanged: none, level: async () => level as null }),
      });
      expect(await gateway.level(limitsWith({ tokensPerMinute: 10 }))).toBeNull();
    }
  });
});
