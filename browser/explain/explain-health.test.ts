/** Every state of a model's health has its words. */
import { describe, expect, it } from "vitest";
import { explainHealth } from "./explain-health.ts";

const NOW = Date.UTC(2026, 10, 23);

describe("health", () => {
  it.each(["healthy", "degraded", "unhealthy", "unknown", "disabled", "purple", "__proto__"])(
    "%s is said",
    (status) => {
      const said = explainHealth({ status, consecutive_failures: 3, maintenance_until: null }, "UTC", NOW);
      for (const words of [said.title, said.sentence]) {
        expect(words).not.toMatch(/[{}]|undefined|null|NaN/);
        expect(words.trim()).not.toBe("");
      }
    },
  );

  it("of a model in maintenance says until when", () => {
    const summary = { status: "unhealthy", consecutive_failures: 3, maintenance_until: "2026-11-23T06:00:00Z" };
    expect(explainHealth(summary, "UTC", NOW).sentence).toBe("Until 23 Nov 2026, 06:00: no checks and no alerts.");
    expect(explainHealth(summary, "UTC", NOW + 86_400_000).sentence).toBe(
      "Its checks fail, or no replica serves it. Failed checks in a row: 3.",
    );
  });
});
