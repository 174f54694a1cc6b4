/** Rows of unauthenticated refusals, however they come (docs/rules/settlement-and-rows.md#refusals). */
import { expect, it } from "vitest";
import { NIL_UUID, type UsageRow, zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { UNAUTHENTICATED_ROWS_PER_SECOND } from "../../domain/cell/refusal-rate-limit.ts";
import { RequestCounters } from "../../domain/cell/request-counters.ts";
import { CompletedRows } from "./completed-rows.ts";

/** A Ledger that keeps the first row of each request. */
function cell() {
  const kept = new Set<string>();
  const counters = new RequestCounters();
  const write = async ({ request_id: id }: UsageRow): Promise<boolean> => {
    const isNew = !kept.has(id);
    kept.add(id);
    return isNew;
  };
  const heartbeat = { counted: (): void => undefined };
  const rows = new CompletedRows({ cell: "c", counters, writer: { write }, heartbeat, now: () => 0 });
  const counted = () =>
    counters
      .families()
      .filter(({ name }) => name === "gateway_requests_total")
      .flatMap(({ samples }) => samples)
      .reduce((sum, { value }) => sum + value, 0);
  return { rows, kept, counted };
}

const refusals = Array.from(
  { length: 3 * UNAUTHENTICATED_ROWS_PER_SECOND },
  (_, at): UsageRow => ({
    ...zeroUsageRow(`r${at}`, 0),
    tenant_id: NIL_UUID,
    status_code: 401,
    admission: "rejected",
  }),
);

it("that are sent again, in whatever way, are bounded and counted once as well", async () => {
  const { rows, kept, counted } = cell();
  for (const row of refusals) await rows.record({ row });
  for (const row of refusals) await rows.record({ row }, true);
  for (const row of refusals) await rows.complete(row, true);
  expect({ kept: kept.size, counted: counted() }).toEqual({
    kept: UNAUTHENTICATED_ROWS_PER_SECOND,
    counted: refusals.length,
  });
});

it("whose first message was lost are bounded when they come as rows that may have come before", async () => {
  const { rows, kept } = cell();
  for (const row of refusals) await rows.complete(row, true);
  expect(kept.size).toBe(UNAUTHENTICATED_ROWS_PER_SECOND);
});
