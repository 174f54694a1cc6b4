/**
 * A request whose Cell is reset again and again while it runs: each life adopts it from the life before, or loses its
 * permit and settles it at the estimate. The request is charged once (docs/rules/budgets.md#settlement).
 */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type UsageRow, zeroUsageRow } from "../../../shared/usage-row.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";
import { lifeAfter } from "../../domain/budget/cell-life.ts";
import { limitsWith, thirtyDayMonthOf } from "../../domain/budget/testing/simulation.ts";
import { Revisions } from "../../domain/cell/revisions.ts";
import { createScheduler } from "../../domain/fairshare/scheduler.ts";
import { AdmissionController } from "./admission-controller.ts";
import { AdmissionEntries } from "./admission-entries.ts";
import { LateDecisions } from "./admission-entry.ts";
import { BudgetGateway } from "./budget-gateway.ts";
import { budgetRequestOf } from "./testing/budget-gateway.ts";
import { TestBudgets } from "./testing/test-budgets.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const LIMITS = limitsWith({ tokensPerMinute: 100_000, tenantTokens: 1_000_000, tenantNanoUsd: 1_000_000_000_000 });
const NEED = { bucketTokens: 30, termTokens: 40, nanoUsd: 500_000_000 };
/** The estimate at which a request is billed when its permit is lost. */
const ESTIMATE = { inputTokens: 10, outputTokens: 20, costUsd: 0.25 };
const REQUEST: AdmissionRequest = { ...budgetRequestOf("r", LIMITS, NEED), estimate: ESTIMATE };
/** What the request used in the end. */
const ROW: UsageRow = { ...zeroUsageRow("r", 0), status_code: 200, total_tokens: 35, cost_usd: 0.75 };

/** The lives of one Cell over one budget object. Answers no longer reach the lives before the last one. */
class Lives {
  readonly budgets = new TestBudgets(Date.now);
  #alive = 0;
  #stored: string | null = null;
  admission = this.begin();

  begin(): AdmissionController {
    this.#alive += 1;
    const life = this.#alive;
    const silent = async () => await new Promise<never>(() => undefined);
    const late = new LateDecisions();
    const budget = new BudgetGateway({
      cell: "c",
      failOpen: false,
      now: Date.now,
      nextLife: () => {
        this.#stored = String(lifeAfter(this.#stored));
        return Number(this.#stored);
      },
      monthOf: thirtyDayMonthOf,
      budgetOf: (tenantId) =>
        life === this.#alive
          ? this.budgets.budgetOf(tenantId)
          : { lease: silent, report: silent, level: async () => null },
      late,
      deliverAlert: async () => undefined,
      raise: () => undefined,
    });
    const revisions = new Revisions();
    const admission = new AdmissionController({
      cell: "c",
      entries: new AdmissionEntries(revisions, Date.now),
      scheduler: createScheduler({ algorithm: "weighted", maxInFlight: 8 }),
      budget,
      revisions,
      maxQueuedPerTenant: 0,
      now: Date.now,
      rows: { complete: async () => undefined },
      later: () => undefined,
      activity: { changed: () => undefined },
    });
    late.readBy((decisions) => admission.applyBudgetDecisions(decisions));
    this.admission = admission;
    return admission;
  }

  async pass(ms = 5_000): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
  }

  /** The counters and reservations, after the ledger was read for every life that is over. */
  get tenant() {
    const core = this.budgets.core("tenant-1");
    core.tick(Date.now());
    if (core.countersAwaitingLedger(Date.now()).length > 0) core.ledgerSettled();
    return core.read("tenant", LIMITS, Date.now());
  }
}

const CHARGED = {
  account: { usedTokens: 35, usedNanoUsd: 750_000_000 },
  reserved: { bucketTokens: 0, termTokens: 0, nanoUsd: 0 },
};

it("is charged what it used when every life adopts it from the one before", async () => {
  const lives = new Lives();
  lives.admission.arrive(REQUEST);
  await lives.pass();
  for (let reset = 0; reset < 3; reset += 1) {
    lives.begin().adopt(REQUEST);
    await lives.pass();
  }
  await lives.admission.settle(lives.admission.adopt(REQUEST), { row: ROW, actualTokens: 35 });
  await lives.pass(60_000);
  expect(lives.tenant).toMatchObject(CHARGED);
});

it.each([
  ["the life that adopted it, which was reset then", 1],
  ["every life, each of which was reset then", 3],
])("is charged what it used when its permit was lost by %s", async (_name, resets) => {
  const lives = new Lives();
  let entry = lives.admission.arrive(REQUEST);
  await lives.pass();
  for (let reset = 0; reset < resets; reset += 1) {
    entry = lives.begin().adopt(REQUEST);
    await lives.pass();
    lives.admission.abandon(entry);
    await lives.pass();
  }
  expect(lives.tenant).toMatchObject({ account: { usedTokens: 30, usedNanoUsd: 250_000_000 } });
  entry = lives.begin().adopt(REQUEST);
  await lives.admission.settle(entry, { row: ROW, actualTokens: 35 });
  await lives.pass(60_000);
  expect(lives.tenant).toMatchObject(CHARGED);
});

it("is charged what it used when the life that lost its permit is the one that ends it", async () => {
  const lives = new Lives();
  const entry = lives.admission.arrive(REQUEST);
  await lives.pass();
  lives.admission.abandon(entry);
  await lives.pass();
  await lives.admission.settle(lives.admission.adopt(REQUEST), { row: ROW, actualTokens: 35 });
  await lives.pass(60_000);
  expect(lives.tenant).toMatchObject(CHARGED);
});
