/** Messages to a budget object with numbers of every kind, and a budget object with its disk that receives them. */
import fc from "fast-check";
import { expect } from "vitest";
import { MAX_AMOUNTS } from "../../edge/domain/budget/amounts.ts";
import { TenantBudgetAuthority } from "../../edge/domain/budget/authority/tenant-budget-authority.ts";
import type { BudgetLimits } from "../../edge/domain/budget/limits.ts";
import type {
  BudgetReport,
  LeaseReport,
  LeaseRequest,
  OpenedLease,
  UsedLine,
} from "../../edge/domain/budget/messages/rpc.ts";
import {
  bucketLevel,
  bucketsIn,
  isLevel,
  msUntil,
  retryAfterMs,
  tightestLevel,
} from "../../edge/domain/budget/token-bucket.ts";
import { budgetUsageOf } from "../../edge/domain/budget/usage-view.ts";
import { AMOUNT_MAX, isAmount } from "../../shared/money/amount.ts";
import { anyNumber, mostlyAmounts } from "./any-number.ts";
import { NOTHING_STORED, SimulatedDisk } from "./edge/budget/simulated-disk.ts";
import { type Caps, limitsWith, thirtyDayMonthOf } from "./edge/budget/simulation.ts";

const amounts = fc.record({ bucketTokens: mostlyAmounts, termTokens: mostlyAmounts, nanoUsd: mostlyAmounts });
const used = fc.record({ tokens: mostlyAmounts, nanoUsd: mostlyAmounts });
const cap = fc.oneof(fc.constant(null), mostlyAmounts);
const caps: fc.Arbitrary<Caps> = fc.record({
  tokensPerMinute: fc.oneof(fc.constant(0), mostlyAmounts),
  tenantTokens: cap,
  tenantNanoUsd: cap,
  keyTokens: cap,
  keyNanoUsd: cap,
  rev: fc.oneof(fc.nat(3), anyNumber),
});
const started = fc.oneof(fc.constant(null), fc.integer({ min: -8.64e15, max: 8.64e15 }), anyNumber);
const limits: fc.Arbitrary<BudgetLimits> = fc
  .record({ given: caps, startedAtMs: started })
  .map(({ given, startedAtMs }) => {
    const { tenant, key } = limitsWith(given);
    return { tenant: { ...tenant, term: { ...tenant.term, startedAtMs } }, key };
  });
const pool = fc.constantFrom(null, "key-1");
const number = fc.oneof(fc.nat(6), anyNumber);
const line: fc.Arbitrary<UsedLine> = fc.record({ limits, tags: fc.constant({ tenant: "l:0", key: "l:0" }), used });
const opened: fc.Arbitrary<OpenedLease> = fc.record({
  as: fc.constantFrom<OpenedLease["as"]>("counted", "adopted", "drawn", "readmitted"),
  granted: amounts,
  from: fc.oneof(fc.constant(null), fc.nat(6)),
});
const lease: fc.Arbitrary<LeaseReport> = fc.record({
  n: number,
  pool,
  released: amounts,
  used: fc.array(line, { maxLength: 2 }),
  ended: fc.boolean(),
  opened: fc.oneof(fc.constant(null), opened),
  request: fc.oneof(fc.constant(null), fc.record({ id: fc.constantFrom("r1", "r2"), goesOn: fc.boolean() })),
});
const report: fc.Arbitrary<BudgetReport> = fc.record({
  cell: fc.constantFrom("a", "b"),
  life: fc.oneof(fc.nat(3), anyNumber),
  sequence: number,
  leases: fc.array(lease, { maxLength: 3 }),
  open: fc.array(number, { maxLength: 3 }),
  alertsSeen: fc.constant([]),
});
const leaseRequest: fc.Arbitrary<LeaseRequest> = fc.record({
  report,
  limits,
  pool,
  n: number,
  need: amounts,
  want: amounts,
});
/** A lease request as a Cell sends it: its report says that the Cell waits for the lease. */
function awaited(request: LeaseRequest): LeaseRequest {
  const { report: sent, n } = request;
  return { ...request, report: { ...sent, open: [...sent.open, n] } };
}

/** Any message or event that a budget object can get. */
export const message = fc.oneof(
  fc.record({ do: fc.constant("lease" as const), request: fc.oneof(leaseRequest, leaseRequest.map(awaited)) }),
  fc.record({ do: fc.constant("report" as const), report }),
  fc.record({ do: fc.constant("ledger" as const), limits, sum: used }),
  fc.record({ do: fc.constant("level" as const), limits }),
  fc.record({ do: fc.constant("tick" as const), ms: fc.constantFrom(1, 20_000, 900_000) }),
);
type Message = typeof message extends fc.Arbitrary<infer T> ? T : never;

/** A budget object with its disk. */
export class Played {
  nowMs = 1_000_000;
  readonly disk = new SimulatedDisk();
  core = new TenantBudgetAuthority(NOTHING_STORED, thirtyDayMonthOf, this.nowMs);

  play(each: Message): void {
    if (each.do === "lease") {
      const { answer, grants } = this.core.lease(each.request, this.nowMs);
      if (grants !== null) this.disk.putGrants(grants);
      if (answer.verdict.kind === "granted") expect(Object.values(answer.verdict.grant).every(isAmount)).toBe(true);
    } else if (each.do === "report") this.core.report(each.report, this.nowMs);
    else if (each.do === "ledger") this.core.applyLedgerSum("tenant", each.limits, "l:0", each.sum, this.nowMs);
    else if (each.do === "level") this.core.buckets(each.limits, this.nowMs);
    else this.wait(each.ms);
  }

  wait(ms: number): void {
    this.nowMs += ms;
    this.core.tick(this.nowMs);
    if (this.core.countersAwaitingLedger(this.nowMs).length > 0) this.core.ledgerSettled();
  }

  /** Everything that can be read from the object is an amount, and what clients get from it are numbers. */
  check(given: BudgetLimits): void {
    const buckets = this.core.buckets(given, this.nowMs);
    for (const bucket of bucketsIn(buckets).flatMap((of) => Object.values(of))) {
      expect(isAmount(bucket.capTokens)).toBe(true);
      expect(Math.abs(bucket.levelTokens)).toBeLessThanOrEqual(bucket.capTokens);
      expect(msUntil(bucket, AMOUNT_MAX)).toBeLessThanOrEqual(120_000);
      const level = bucketLevel(bucket);
      if (level !== null) expect([level.limitTokens, level.remainingTokens].every(isAmount)).toBe(true);
    }
    expect(retryAfterMs(buckets, MAX_AMOUNTS)).toBeGreaterThanOrEqual(1);
    expect(isLevel(tightestLevel(bucketsIn(buckets)))).toBe(true);
    for (const whose of ["tenant", "key"] as const) {
      const { account, reserved, limits: newest } = this.core.read(whose, given, this.nowMs);
      expect([account.usedTokens, account.usedNanoUsd, ...Object.values(reserved)].every(isAmount)).toBe(true);
      const read = budgetUsageOf(newest[whose].term, account, reserved, { startMs: null, endMs: null }, this.nowMs);
      for (const [name, value] of Object.entries(read))
        expect({ name, isInRange: typeof value !== "number" || (value >= 0 && value <= AMOUNT_MAX) }).toEqual({
          name,
          isInRange: true,
        });
      for (const name of ["used_tokens", "reserved_tokens", "remaining_tokens"] as const)
        expect({ name, isAmountOrNull: read[name] === null || isAmount(read[name]) }).toEqual({
          name,
          isAmountOrNull: true,
        });
    }
  }

  /** Stores everything and reads it back. */
  restart(): void {
    this.disk.putCheckpoint(this.core.checkpoint());
    const { state, damaged } = this.disk.load();
    expect(damaged).toBe(0);
    this.core = new TenantBudgetAuthority(state, thirtyDayMonthOf, this.nowMs);
  }
}

/** Limits whose revision is newer than all others. */
export const PLAIN = limitsWith({ tokensPerMinute: 100, tenantTokens: 1_000, tenantNanoUsd: 1_000, rev: AMOUNT_MAX });
