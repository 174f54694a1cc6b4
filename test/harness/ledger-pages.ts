/** A page of the request log far from its beginning, by the cursor that a caller who read all pages before would have. */
import type { FilledControl } from "./filled-control.ts";
import { type LedgerRead, ledgerPage } from "./ledger-reads.ts";

const PAGE_ROWS = 50;

/** Page `number` of all requests, 50 rows each; 1 is the newest. Throws when there are not so many. */
export async function pageAt(control: FilledControl, number: number): Promise<LedgerRead> {
  const name = `usage/logs page ${number}`;
  if (number === 1) return ledgerPage(control.stored, name, "");
  const [last] = await control.rows<{ ts_ms: number; request_id: string }>(
    `SELECT toUnixTimestamp64Milli(ts) AS ts_ms, toString(r.request_id) AS request_id FROM gateway.usage_raw AS r
     WHERE request_type NOT IN ('health_probe', 'benchmark')
     ORDER BY ts DESC, toString(r.request_id) DESC LIMIT 1 OFFSET ${(number - 1) * PAGE_ROWS - 1}`,
  );
  if (last === undefined) throw new Error(`there are fewer than ${number} pages`);
  return ledgerPage(control.stored, name, `&before_ms=${last.ts_ms}&before_request_id=${last.request_id}`);
}
