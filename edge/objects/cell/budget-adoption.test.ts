/**
 * A request whose Cell is reset again and again while it runs: each life adopts it from the life before, or loses its
 * permit and settles it at the estimate. The request is charged once (docs/rules/budgets.md#settlement).
 */
import { beforeEach, expect, it, vi } from "vitest";
import { type UsageRow, zeroUsageRow } from "../../../shared/usage-row.ts";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { budgetRequestOf } from "../../../test/harness/edge/cell/budget-gateway.ts";
import { CellLives } from "../../../test/harness/edge/cell/cell-lives.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";

beforeEach(() => vi.useFakeTimers());

const LIMITS = limitsWith({ tokensPerMinute: 100_000, tenantTokens: 1_000_000, tenantNanoUsd: 1_000_000_000_000 });
const NEED = { bucketTokens: 30, termTokens: 40, nanoUsd: 500_000_000 };
/** The estimate at which a request is billed when its permit is lost. */
const ESTIMATE = { inputTokens: 10, outputTokens: 20, costUsd: 0.25 };
const REQUEST: AdmissionRequest = { ...budgetRequestOf("r", LIMITS, NEED), estimate: ESTIMATE };
/** What the request used in the end. */
const ROW: UsageRow = { ...zeroUsageRow("r", 0), status_code: 200, total_tokens: 35, cost_usd: 0.75 };

const CHARGED = {
  account: { usedTokens: 35, usedNanoUsd: 750_000_000 },
  reserved: { bucketTokens: 0, termTokens: 0, nanoUsd: 0 },
};

it("is charged what it used when every life adopts it from the one before", async () => {
  const lives = new CellLives(LIMITS);
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
  const lives = new CellLives(LIMITS);
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
  const lives = new CellLives(LIMITS);
  const entry = lives.admission.arrive(REQUEST);
  await lives.pass();
  lives.admission.abandon(entry);
  await lives.pass();
  await lives.admission.settle(lives.admission.adopt(REQUEST), { row: ROW, actualTokens: 35 });
  await lives.pass(60_000);
  expect(lives.tenant).toMatchObject(CHARGED);
});
