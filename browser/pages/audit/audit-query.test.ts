import { expect, it } from "vitest";
import { auditQuery } from "./audit-query.ts";
import { auditSearch } from "./audit-search.ts";

const HOUR_MS = 3_600_000;

it("ends with own days, also when the clock is only known to the hour in which they ended", () => {
  const search = auditSearch({ period: "2026-11-22..2026-11-22", actor: "root" });
  const toMs = Date.UTC(2026, 10, 22, 18, 30);
  const nowMs = Math.floor((toMs + 60_000) / HOUR_MS) * HOUR_MS;
  expect(auditQuery(search, "Asia/Kolkata", nowMs)).toEqual({
    since_ms: String(toMs - 24 * HOUR_MS),
    until_ms: String(toMs - 1),
    actor: "root",
  });
});

it.each(["24h", "7d", "30d", "month", undefined])("has no end for %s, so that what comes is in it", (period) => {
  const search = auditSearch(period === undefined ? {} : { period });
  expect(Object.keys(auditQuery(search, "UTC", Date.UTC(2026, 10, 22, 20)))).toEqual(["since_ms"]);
});
