/**
 * Traffic whose sums are known: two tenants, a refusal without a tenant, internal traffic, and rows from the day before
 * yesterday.
 */
import { NIL_UUID, type UsageRow } from "../../shared/usage/usage-row.ts";
import { ledgerRow } from "./ledger.ts";

export const OTHER_TENANT = "33333333-3333-4333-8333-333333333333";
export const OTHER_KEY = "44444444-4444-4444-8444-444444444444";
export const DAY_MS = 86_400_000;

/** Tokens and cost of a row, as reads show them. */
export const used = (input: number, output: number, costUsd: number) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
  cost_usd: costUsd,
});

/** The rows of this traffic; all but one are of the last second before `nowMs`. */
export function someTraffic(nowMs: number): readonly UsageRow[] {
  const row = (change: Partial<UsageRow>): UsageRow => ledgerRow(nowMs - 1000, change);
  return [
    row({ ...used(10, 20, 0.1), ttft_ms: 100, total_ms: 1100 }),
    row({ ...used(1, 2, 0.01), status_code: 500, model: "n" }),
    row({ ...used(100, 200, 0.05), tenant_id: OTHER_TENANT, key_id: OTHER_KEY, ttft_ms: 50, total_ms: 550 }),
    row({ tenant_id: NIL_UUID, key_id: NIL_UUID, status_code: 401, model: "" }),
    row({ ...used(5, 5, 0), request_type: "health_probe", tenant_id: NIL_UUID, key_id: NIL_UUID }),
    row({ ...used(7, 7, 0), request_type: "benchmark" }),
    row({ ...used(1000, 0, 1), ts_ms: nowMs - 2 * DAY_MS }),
  ];
}
