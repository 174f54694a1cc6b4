/** The query that an address stands for, and its line for a terminal, whatever the address says. */
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { usageLogsQuerySchema } from "../../../shared/schema/usage.ts";
import { listCall, requestCall } from "./api-calls.ts";
import { FILTERS, isOver, logsQuery, periodOf } from "./logs-query.ts";
import { logsSearch } from "./logs-search.ts";

const NOW = Date.UTC(2026, 10, 22, 20);
const TENANT = "11111111-1111-4111-8111-111111111111";

describe("the query of an address", () => {
  it("has the filters by their names, and the last 24 hours without an end", () => {
    const search = logsSearch({ tenant_id: TENANT, status: "error", min_total_ms: 500.7, traced_only: true });
    expect(logsQuery(search, "admin", "UTC", NOW)).toEqual({
      since_ms: String(NOW - 86_400_000),
      tenant_id: TENANT,
      status: "error",
      min_total_ms: "500",
      traced_only: "true",
    });
  });

  it.each([
    ["Asia/Kolkata", Date.UTC(2026, 9, 31, 18, 30), 24],
    ["America/Los_Angeles", Date.UTC(2026, 10, 1, 7), 25],
    ["UTC", Date.UTC(2026, 10, 1), 24],
  ])("has the first and the last millisecond of a day of %s", (zone, fromMs, hours) => {
    const query = logsQuery(logsSearch({ period: "2026-11-01..2026-11-01" }), "admin", zone, NOW);
    expect(query).toEqual({ since_ms: String(fromMs), until_ms: String(fromMs + hours * 3_600_000 - 1) });
    expect({ atStart: isOver(query, fromMs), now: isOver(query, NOW) }).toEqual({ atStart: false, now: true });
  });

  it("ends with own days, also when the last one has just ended or has not", () => {
    const toMs = Date.UTC(2026, 10, 22, 18, 30);
    const search = logsSearch({ period: "2026-11-22..2026-11-22" });
    for (const nowMs of [toMs - 1_800_000, toMs, toMs + 1_800_000])
      expect(logsQuery(search, "admin", "Asia/Kolkata", nowMs)).toMatchObject({ until_ms: String(toMs - 1) });
  });

  it("is about a window instead of the period, where the address has one", () => {
    const search = logsSearch({ period: "7d", from_ms: 1000.5, to_ms: 1999, status: "failed" });
    const query = { since_ms: "1000", until_ms: "1999", status: "failed" };
    expect(logsQuery(search, "admin", "UTC", NOW)).toEqual(query);
    const reversed = logsSearch({ period: "24h", from_ms: 2000, to_ms: 1999 });
    expect(logsQuery(reversed, "admin", "UTC", NOW)).toEqual({ since_ms: String(NOW - 86_400_000) });
  });

  it("has no filter that a tenant's user does not have", () => {
    const search = logsSearch({ tenant_id: TENANT, cell: "eu", include_internal: true, model: "m", period: "7d" });
    expect(Object.keys(logsQuery(search, "user", "UTC", NOW)).toSorted()).toEqual(["model", "since_ms"]);
  });

  it("is accepted by the API, whatever the address says", () => {
    const value = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.double(),
      fc.boolean(),
      fc.constantFrom(
        "success",
        TENANT,
        "2026-02-30..2026-03-01",
        "-271821-04-20..-271821-04-20",
        "9999-12-31..9999-12-31",
      ),
    );
    const names = [...FILTERS, "period", "from_ms", "to_ms", "zone", "columns", "open", "__proto__"];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), fc.constantFrom("admin", "user"), (given, role) => {
        const search = logsSearch(given);
        const query = logsQuery(search, role, "Asia/Kolkata", NOW);
        expect(usageLogsQuerySchema.safeParse(query).success).toBe(true);
        expect(periodOf(search).kind).toMatch(/^(24h|7d|30d|month|custom)$/);
      }),
    );
  });
});

describe("a line for a terminal", () => {
  it("has the same filters", () => {
    expect(listCall({ since_ms: "1", model: "a b" })).toBe(
      `curl -sS "\${GATEWAY_ADMIN_BASE_URL:-http://127.0.0.1:9180}"'/api/v1/usage/logs?since_ms=1&model=a+b' -H "authorization: Bearer $GATEWAY_ADMIN_TOKEN"`,
    );
  });

  it("is one call, whatever is in a filter", () => {
    const hostile = ["'; touch x; '", "$(id)", "`id`", "\n", "\\", '"', "a'b"];
    const lines = hostile.flatMap((text) => [listCall({ session_id: text }), requestCall(text)]);
    const script = `curl() { printf '%s\\n' "$#"; }\n${lines.join("\n")}`;
    expect(execFileSync("sh", ["-c", script], { encoding: "utf8" })).toBe("4\n".repeat(lines.length));
  });
});
