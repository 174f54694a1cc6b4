/** An entry of the audit log in one line, whatever it holds. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { changesText } from "./changes.ts";

it("shows the old and new value of each changed field", () => {
  const changed = {
    contact: ["", "ops@example.org"],
    allowed_models: [null, ["a", "b"]],
    status: ["pending", "active"],
  };
  expect(changesText({ changed }, "UTC")).toBe(
    "Contact: (empty) → ops@example.org; Allowed models: All models → a, b; State: Awaiting approval → Active",
  );
});

it("writes numbers in groups of digits, but ports as they are", () => {
  const changed = { budget_tokens: [null, 12000], first_port: [8000, 9000] };
  expect(changesText({ changed }, "UTC")).toBe("Budget in tokens: No limit → 12,000; First port: 8000 → 9000");
});

it("shows the details of an entry without changes, and nothing without details", () => {
  expect(changesText({ name: "acme" }, "UTC")).toBe("Name: acme");
  expect(changesText({}, "UTC")).toBe("");
});

it("reads whatever an entry holds", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (detail) => {
      expect(typeof changesText(detail, "Europe/Berlin")).toBe("string");
    }),
  );
});
