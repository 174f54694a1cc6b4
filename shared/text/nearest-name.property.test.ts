/** The name that a wrong one was meant to be (docs/rules/management-api.md#bodies). */
import fc from "fast-check";
import { expect, it } from "vitest";
import { nearestName } from "./nearest-name.ts";

const names = fc.uniqueArray(fc.stringMatching(/^[a-z_]{1,12}$/), { minLength: 1, maxLength: 8 });

it("is one of the known names or none, and the same name if that is known", () => {
  fc.assert(
    fc.property(names, fc.string({ maxLength: 30 }), (known, wrong) => {
      expect([...known, null]).toContain(nearestName(wrong, known));
      for (const name of known) expect(nearestName(name, known)).toBe(name);
    }),
  );
});

it.each<[string, string | null]>([
  ["budget_cost", "budget_cost_usd"],
  ["descripton", "description"],
  ["maxInFlight", "max_in_flight"],
  ["monthly_budget_tokens", "budget_tokens"],
  ["weigth", "weight"],
  ["enduser_budget_tokens", "end_user_budget_tokens"],
  ["metadata", null],
])("%s is meant to be %s", (wrong, right) => {
  const known = [
    "end_user_budget_tokens",
    "secret",
    "name",
    "description",
    "weight",
    "max_in_flight",
    "budget_tokens",
    "budget_cost_usd",
    "budget_period",
  ];
  expect(nearestName(wrong, known)).toBe(right);
});

it("is null where no name is known", () => {
  expect(nearestName("a", [])).toBeNull();
});
