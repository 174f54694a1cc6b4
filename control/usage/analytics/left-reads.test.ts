/**
 * A read of usage ends with the caller who made it, which is no failure of the store.
 *
 * @module-tag check
 */
import { pino } from "pino";
import { expect, it } from "vitest";
import { ADMIN_TOKEN, startControl } from "../../../test/harness/control.ts";
import { TestLedger } from "../../../test/harness/ledger.ts";
import { AnalyticsStore } from "./store.ts";

const ledger = new TestLedger();
ledger.use();
const SESSIONS = 3;

it("is over when its caller leaves, and no line says that the store fails", async () => {
  const lines: string[] = [];
  const store = new AnalyticsStore(ledger.place, pino({}, { write: (line: string) => void lines.push(line) }));
  await store.migrate();
  const control = await startControl({ analytics: store });
  const busy = Array.from({ length: SESSIONS }, async () => await ledger.store.rows("SELECT sleep(2.5)", {}));
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const left = await control.app.request("/api/v1/usage", { headers, signal: AbortSignal.timeout(500) });
  await Promise.all(busy);
  await control.close();
  await store.close();
  expect({ status: left.status, lines }).toEqual({ status: 503, lines: [] });
});
