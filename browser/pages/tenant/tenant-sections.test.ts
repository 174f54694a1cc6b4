import { expect, it } from "vitest";
import { appliedFields } from "./tenant-sections.tsx";

it("shows when a budget started, except a monthly one, and nothing the reader does not get", () => {
  const names = ["budget_period", "budget_started_at", "weight"];
  const shown = (budget_period: "monthly" | "term" | null) =>
    appliedFields(names, Object.assign({ budget_period }, { budget_started_at: "2026-11-30T05:31:00Z" }));
  expect({ monthly: shown("monthly"), term: shown("term"), none: shown(null) }).toEqual({
    monthly: ["budget_period"],
    term: ["budget_period", "budget_started_at"],
    none: ["budget_period", "budget_started_at"],
  });
});
