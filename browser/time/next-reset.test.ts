/** When a budget resets, by the tenant's clock. */
import { describe, expect, it } from "vitest";
import { resetSentence } from "./next-reset.ts";

const NOW = Date.UTC(2026, 10, 22, 20);

describe("resetSentence", () => {
  it("names instant, zone and how far it is", () => {
    const usage = { budget_period: "monthly", period_end: "2026-11-30T18:30:00.000Z" } as const;
    expect(resetSentence(usage, "Asia/Kolkata", NOW)).toBe(
      "Resets 1 Dec 2026, 00:00 Asia/Kolkata (UTC+05:30) (in 8 days).",
    );
    expect(resetSentence(usage, "Asia/Kolkata", Date.UTC(2026, 11, 1))).toBe("Resets now.");
  });

  it("says that a term ends", () => {
    const usage = { budget_period: "term", period_end: "2026-11-23T20:00:00.000Z" } as const;
    expect(resetSentence(usage, "UTC", NOW)).toBe("Ends 23 Nov 2026, 20:00 UTC (in 24 hr).");
    expect(resetSentence(usage, "UTC", NOW + 2 * 86_400_000)).toBe("Ended.");
  });

  it.each([
    { budget_period: "lifetime", period_end: null },
    { budget_period: null, period_end: null },
    { budget_period: "monthly", period_end: "never" },
  ] as const)("claims nothing of %j", (usage) => {
    expect(resetSentence(usage, "UTC", NOW)).toBe("Does not reset automatically.");
  });
});
