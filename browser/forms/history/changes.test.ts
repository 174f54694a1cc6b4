/** An entry of the audit log in one line, whatever it holds. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { changesText } from "./changes.ts";

it("shows the old and new value of each changed field", () => {
  const changed = { weight: [100, 50], contact: ["", "ops@example.org"], allowed_models: [null, ["a", "b"]] };
  expect(changesText({ changed }, "UTC")).toBe(
    "Weight: 100 → 50; Contact: (empty) → ops@example.org; Allowed models: All models → a, b",
  );
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
