import { describe, expect, it } from "vitest";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { budgetAlert } from "./alerts.ts";
import { NO_AMOUNTS } from "./amounts.ts";
import type { TermLimits } from "./limits.ts";
import {
  emptyAccount,
  headroomOf,
  isExhausted,
  type MonthOf,
  periodTag,
  raiseAlerts,
  raiseTo,
  type TermAccount,
  TermPeriod,
  usedRatio,
} from "./term-budget.ts";
import { budgetUsageOf } from "./usage-view.ts";

const caps = (tokens: number | null, nanoUsd: number | null = null): TermLimits => ({
  tokens,
  nanoUsd,
  period: null,
  startedAtMs: null,
});
const used = (tokens: number, nanoUsd = 0): TermAccount => ({
  ...emptyAccount("l:0"),
  usedTokens: tokens,
  usedNanoUsd: nanoUsd,
});
const MONTHLY: TermLimits = { ...caps(100), period: "monthly" };
const utcMonth: MonthOf = (epochMs) => new Date(epochMs).toISOString().slice(0, 7);
/** A monthly counter in UTC while the clock shows that. */
const monthly = (clock: string) => new TermPeriod(MONTHLY, "UTC", Date.parse(clock), utcMonth);
/** A counter with this use in that month. */
const spent = (tag: string): TermAccount => ({ ...emptyAccount(tag), usedTokens: 5, usedNanoUsd: 1, raised: ["warn"] });
const MORE = { tokens: 2, nanoUsd: 2 };

describe("term budgets", () => {
  it("tag their periods", () => {
    const monthOf = () => "2026-11";
    const at = { tokens: 1, nanoUsd: null, startedAtMs: 1_700_000_000_999 };
    expect(periodTag({ ...at, period: "monthly" }, "UTC", 0, monthOf)).toBe("m:2026-11");
    expect(periodTag({ ...at, period: "term" }, "UTC", 0, monthOf)).toBe("t:1700000000");
    expect(periodTag({ ...at, period: "lifetime" }, "UTC", 0, monthOf)).toBe("l:1700000000");
    expect(periodTag({ ...at, period: null, startedAtMs: null }, "UTC", 0, monthOf)).toBe("l:0");
  });

  it("start again in another period", () => {
    const november = spent("m:2026-11");
    expect(monthly("2026-11-30T23:59:59.999Z").roll(november)).toBe(november);
    expect(monthly("2026-12-01T00:00:00.000Z").roll(november)).toEqual(emptyAccount("m:2026-12"));
    expect(new TermPeriod(caps(1), "UTC", 0, utcMonth).roll(november)).toEqual(emptyAccount("l:0"));
  });

  it("stay in a month that another clock has not reached yet, and leave one never due", () => {
    const december = spent("m:2026-12");
    expect(monthly("2026-11-30T23:30:00.000Z").roll(december)).toBe(december);
    expect(monthly("2026-11-30T22:00:00.000Z").roll(december)).toEqual(emptyAccount("m:2026-11"));
    expect(monthly("2026-12-01T00:00:00.000Z").roll(spent("m:2027-12"))).toEqual(emptyAccount("m:2026-12"));
  });

  it("leave out what was used in a month that is over, as long as that can be", () => {
    const december = spent("m:2026-12");
    expect(monthly("2026-12-01T00:59:00.000Z").charge(december, "m:2026-11", MORE)).toBe(december);
    expect(monthly("2026-12-02T00:59:00.000Z").charge(december, "m:2026-11", MORE)).toBe(december);
    expect(new TermPeriod(caps(1), "UTC", 0, utcMonth).charge(used(1), "l:9", MORE)).toEqual(used(1));
  });

  it.each([
    ["a month to come", "2026-12-10T00:00:00.000Z", "m:2027-01"],
    ["a month long over", "2026-12-10T00:00:00.000Z", "m:2026-11"],
    ["a month of another year", "2026-12-01T00:00:00.000Z", "m:2025-12"],
    ["the month before, by a clock of the object that is behind itself", "2026-11-30T23:30:00.000Z", "m:2026-11"],
  ])("charge what a wrong clock says was used in %s", (_name, clock, tag) => {
    expect(monthly(clock).charge(spent("m:2026-12"), tag, MORE)).toMatchObject({ usedTokens: 7, usedNanoUsd: 3 });
  });

  it("close when used and reserved reach a cap, before the request is added; a cap of 0 always", () => {
    const reserved = { ...NO_AMOUNTS, termTokens: 40 };
    expect(isExhausted(headroomOf(used(59), caps(100), reserved))).toBe(false);
    expect(isExhausted(headroomOf(used(60), caps(100), reserved))).toBe(true);
    expect(isExhausted(headroomOf(used(0), caps(0), NO_AMOUNTS))).toBe(true);
    expect(isExhausted(headroomOf(used(0, 9), caps(null, 9), NO_AMOUNTS))).toBe(true);
    expect(isExhausted(headroomOf(used(1e12, 1e12), caps(null), NO_AMOUNTS))).toBe(false);
  });

  it("take the larger ratio of tokens and cost", () => {
    expect(usedRatio(used(50, 90), caps(100, 100))).toEqual({ ratio: 0.9, unit: "USD" });
    expect(usedRatio(used(50, 10), caps(100, 100))).toEqual({ ratio: 0.5, unit: "tokens" });
    expect(usedRatio(used(0), caps(0))).toEqual({ ratio: 1, unit: "tokens" });
    expect(usedRatio(used(5), caps(null))).toBeNull();
  });

  it("raise each alert once per period", () => {
    expect(raiseAlerts(used(79), caps(100)).levels).toEqual([]);
    const warned = raiseAlerts(used(80), caps(100));
    expect(warned.levels).toEqual(["warn"]);
    const full = raiseAlerts({ ...warned.account, usedTokens: 100 }, caps(100));
    expect(full.levels).toEqual(["exhausted"]);
    expect(raiseAlerts(full.account, caps(100)).levels).toEqual([]);
    expect(raiseAlerts(used(200), caps(100)).levels).toEqual(["warn", "exhausted"]);
    expect(new TermPeriod(MONTHLY, "UTC", 0, utcMonth).roll(full.account).raised).toEqual([]);
  });

  it("are only ever raised by the ledger", () => {
    expect(raiseTo(used(10, 5), { tokens: 7, nanoUsd: 9 })).toMatchObject({ usedTokens: 10, usedNanoUsd: 9 });
  });

  it("word their alerts", () => {
    const limits = limitsWith({ tenantTokens: 100, keyNanoUsd: 12_500_000_000 });
    expect(budgetAlert("tenant", "warn", limits, used(80), 0)).toEqual({
      id: "term_budget_warn:tenant-1@l:0",
      issueKey: "term_budget_warn:tenant-1",
      title: "Tenant budget at 80 percent",
      detail: '"Acme": 80 of 100 tokens (lifetime)',
    });
    expect(budgetAlert("key", "exhausted", limits, used(0, 13_000_000_000), 0)).toEqual({
      id: "key_term_budget_exhausted:key-1@l:0",
      issueKey: "key_term_budget_exhausted:key-1",
      title: "API key budget exhausted",
      detail: '"Acme", key "main": 13 of 12.5 USD (lifetime)',
    });
  });

  it("say in an alert when they run out at their rate, by the tenant's clock", () => {
    const limits = limitsWith({ tenantTokens: 100 });
    const ofMonth = (zone: string): typeof limits => ({
      ...limits,
      tenant: { ...limits.tenant, timezone: zone, term: { ...limits.tenant.term, period: "monthly" } },
    });
    const detail = (tokens: number, perDay: number, now: string, zone = "UTC", tag = "m:2026-11") => {
      const atMs = Date.parse(now);
      const recent = { sinceMs: atMs, atMs, tokens: perDay, nanoUsd: 0 };
      const level = tokens < 100 ? "warn" : "exhausted";
      return budgetAlert("tenant", level, ofMonth(zone), { ...emptyAccount(tag), usedTokens: tokens, recent }, atMs)
        .detail;
    };
    const lifetime = { ...emptyAccount("l:0"), usedTokens: 80, recent: { sinceMs: 0, atMs: 0, tokens: 5, nanoUsd: 0 } };
    expect({
      warned: detail(80, 5, "2026-11-17T00:00Z"),
      zone: detail(80, 5, "2026-11-17T00:00Z", "Pacific/Kiritimati"),
      unknownZone: detail(80, 5, "2026-11-17T00:00Z", "No/Zone"),
      lasting: detail(80, 3, "2026-11-29T00:00Z"),
      usedUp: detail(100, 10, "2026-11-11T00:00Z"),
      december: detail(100, 10, "2026-12-11T00:00Z", "UTC", "m:2026-12"),
      damaged: detail(80, 5, "2026-11-17T00:00Z", "UTC", "m:?"),
      lifetime: budgetAlert("tenant", "warn", limits, lifetime, 0).detail,
    }).toEqual({
      warned:
        '"Acme": 80 of 100 tokens (monthly); 5 a day, runs out on 2026-11-21 at this rate, 150 would last until it resets on 2026-12-01',
      zone: '"Acme": 80 of 100 tokens (monthly); 5 a day, runs out on 2026-11-21 at this rate, 148 would last until it resets on 2026-12-01',
      unknownZone:
        '"Acme": 80 of 100 tokens (monthly); 5 a day, runs out on 2026-11-21 at this rate, 150 would last until it resets on 2026-12-01',
      lasting: '"Acme": 80 of 100 tokens (monthly); 3 a day, 86 will be used when it resets on 2026-12-01',
      usedUp: '"Acme": 100 of 100 tokens (monthly); 10 a day, used up, 300 would last until it resets on 2026-12-01',
      december: '"Acme": 100 of 100 tokens (monthly); 10 a day, used up, 310 would last until it resets on 2027-01-01',
      damaged: '"Acme": 80 of 100 tokens (monthly); 5 a day, runs out on 2026-11-21 at this rate',
      lifetime: '"Acme": 80 of 100 tokens (lifetime); 5 a day, runs out on 1970-01-05 at this rate',
    });
  });

  it("keep how fast they are used when a period ends", () => {
    const at = Date.parse("2026-11-30T12:00:00.000Z");
    const november = monthly("2026-11-30T12:00:00.000Z").charge(emptyAccount("m:2026-11"), "m:2026-11", MORE);
    const recent = { sinceMs: at, atMs: at, ...MORE };
    expect(november).toMatchObject({ usedTokens: MORE.tokens, recent });
    expect(monthly("2026-12-01T00:00:00.000Z").roll(november)).toEqual({ ...emptyAccount("m:2026-12"), recent });
  });

  it("are read as decided", () => {
    const reserved = { bucketTokens: 0, termTokens: 30, nanoUsd: 500_000_000 };
    const period = { startMs: null, endMs: null };
    expect(budgetUsageOf(caps(100, 2_000_000_000), used(81, 1e9), reserved, period, 0)).toEqual({
      budget_period: null,
      period_start_ms: null,
      period_end_ms: null,
      budget_tokens: 100,
      budget_cost_usd: 2,
      used_tokens: 81,
      used_cost_usd: 1,
      reserved_tokens: 30,
      reserved_cost_usd: 0.5,
      remaining_tokens: 0,
      remaining_cost_usd: 0.5,
      ratio: 0.81,
      state: "warned",
      tokens_per_day: null,
      cost_usd_per_day: null,
    });
    expect(budgetUsageOf(caps(3), used(1), NO_AMOUNTS, period, 0)).toMatchObject({ ratio: 0.3333, state: "ok" });
    expect(budgetUsageOf(caps(null), used(1), NO_AMOUNTS, period, 0)).toMatchObject({ ratio: null, state: "none" });
    expect(budgetUsageOf(caps(0), used(0), NO_AMOUNTS, period, 0)).toMatchObject({ ratio: 1, state: "exhausted" });
    const recent = { sinceMs: 0, atMs: 0, tokens: 7, nanoUsd: 2_000_000_000 };
    expect(budgetUsageOf(caps(null), { ...used(1), recent }, NO_AMOUNTS, period, 0)).toMatchObject({
      tokens_per_day: 7,
      cost_usd_per_day: 2,
    });
  });
});
