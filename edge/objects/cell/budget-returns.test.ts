/**
 * A request whose Cell is reset again and again while it runs: its isolate names it to each life, which takes it back, or gives it up
 * and settles it at the estimate. The request is charged once (docs/rules/budgets.md#settlement).
 */
import { beforeEach, expect, it, vi } from "vitest";
import { type UsageRow, zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { budgetRequestOf } from "../../../test/harness/edge/cell/budget-gateway.ts";
import { CellLives } from "../../../test/harness/edge/cell/cell-lives.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";

beforeEach(() => vi.useFakeTimers());

const LIMITS = limitsWith({ tokensPerMinute: 100_000, tenantTokens: 1_000_000, tenantNanoUsd: 1_000_000_000_000 });
const NEED = { bucketTokens: 30, termTokens: 40, nanoUsd: 500_000_000 };
/** The estimate at which a request is billed when it is given up. */
const ESTIMATE = { inputTokens: 10, outputTokens: 20, costUsd: 0.25 };
const REQUEST: AdmissionRequest = { ...budgetRequestOf("r", LIMITS, NEED), estimate: ESTIMATE };
/** The final use of the request. */
const SERVED: UsageRow = { ...zeroUsageRow("r", 0), status_code: 200, total_tokens: 35, cost_usd: 0.75 };

const CHARGED = {
  account: { usedTokens: 35, usedNanoUsd: 750_000_000 },
  reserved: { bucketTokens: 0, termTokens: 0, nanoUsd: 0 },
};

const END = { row: SERVED, actualTokens: 35 };
/** As its isolate names it to a life that does not know it. */
const RETURNED: AdmissionRequest = { ...REQUEST, waitedMs: 0 };

it("is charged what it used when every life takes it back from the one before", async () => {
  const lives = new CellLives(LIMITS);
  lives.admission.ask(REQUEST, "isolate");
  await lives.pass();
  for (let reset = 0; reset < 3; reset += 1) {
    lives.begin().comeBack(RETURNED, "isolate");
    await lives.pass();
  }
  // It came twice.
  lives.admission.comeBack(RETURNED, "isolate");
  await lives.admission.end(END);
  await lives.pass(60_000);
  expect(lives.tenant).toMatchObject(CHARGED);
});

it.each([
  ["the life that took it back, which was reset then", 1],
  ["every life, each of which was reset then", 3],
])("is charged what it used when it was given up by %s", async (_name, resets) => {
  const lives = new CellLives(LIMITS);
  lives.admission.ask(REQUEST, "isolate");
  await lives.pass();
  for (let reset = 0; reset < resets; reset += 1) {
    lives.begin().comeBack(RETURNED, "isolate");
    await lives.pass();
    lives.admission.giveUp("r");
    await lives.pass();
  }
  expect(lives.tenant).toMatchObject({ account: { usedTokens: 30, usedNanoUsd: 250_000_000 } });
  lives.begin().comeBack(RETURNED, "isolate");
  await lives.admission.end(END);
  await lives.pass(60_000);
  expect(lives.tenant).toMatchObject(CHARGED);
});

it.each([
  ["comes back and ends", true],
  ["ends", false],
])("is charged what it used when the life that gave it up sees that it %s", async (_name, comesBack) => {
  const lives = new CellLives(LIMITS);
  lives.admission.ask(REQUEST, "isolate");
  await lives.pass();
  lives.admission.giveUp("r");
  await lives.pass();
  if (comesBack) lives.admission.comeBack(RETURNED, "isolate");
  await lives.admission.end(END);
  await lives.pass(60_000);
  expect(lives.tenant).toMatchObject(CHARGED);
});
