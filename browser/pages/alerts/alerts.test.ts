/** What the page of alerts asks the API for, and what it says of a channel. */
import { describe, expect, it } from "vitest";
import { alertsSearch } from "./alerts-search.ts";
import { ruleText } from "./channel-words.ts";
import { historyQuery } from "./history-query.ts";

const NOW_MS = Date.parse("2026-11-30T12:00:00Z");

describe("the history of an address", () => {
  it("is that of 7 days, today included, without filters", () => {
    expect(historyQuery(alertsSearch({ severity: "nonsense" }), "UTC", NOW_MS)).toEqual({
      since_ms: String(Date.parse("2026-11-24T00:00:00Z")),
    });
  });

  it("has the filters of the address by the names of the API, and own days to their end", () => {
    const search = alertsSearch({
      severity: "critical",
      state: "ended",
      kind: "disk_low",
      q: "cell 1",
      period: "2026-11-01..2026-11-02",
      key: "x",
    });
    expect(historyQuery(search, "UTC", NOW_MS)).toEqual({
      severity: "critical",
      state: "ended",
      kind: "disk_low",
      q: "cell 1",
      since_ms: String(Date.parse("2026-11-01T00:00:00Z")),
      until_ms: String(Date.parse("2026-11-03T00:00:00Z")),
    });
  });
});

describe("the rule of a channel", () => {
  it("is said by its severity and the number of its alerts", () => {
    expect(ruleText({ min_severity: "warning", kinds: [] })).toBe("Warning and critical");
    expect(ruleText({ min_severity: "info", kinds: ["disk_low"] })).toBe("All severities, 1 alert");
  });
});
