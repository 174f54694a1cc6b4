/** Old and new of each field of an entry, whatever it holds; of a secret nothing but that it has changed. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { entryDetail } from "./difference.ts";

describe("entryDetail", () => {
  it("returns old and new values, changed secrets, and the other details", () => {
    expect(entryDetail({ email: "a@example.org", changed: { weight: [1, 2], api_key: "changed" } })).toEqual({
      differences: [
        { field: "weight", isSecret: false, before: 1, after: 2 },
        { field: "api_key", isSecret: true },
      ],
      facts: [["email", "a@example.org"]],
    });
  });

  it("compares objects by their members, and lists and null as a whole", () => {
    const before = { action: "block", scanners: ["a"], inner: { x: 1, y: 2 } };
    const after = { action: "block", scanners: ["a", "b"], inner: { x: 1, y: 3 }, added: true };
    expect(entryDetail({ changed: { policy: [before, after], other: [null, { a: 1 }] } }).differences).toEqual([
      { field: "policy.scanners", isSecret: false, before: ["a"], after: ["a", "b"] },
      { field: "policy.inner.y", isSecret: false, before: 2, after: 3 },
      { field: "policy.added", isSecret: false, before: null, after: true },
      { field: "other", isSecret: false, before: null, after: { a: 1 } },
    ]);
  });

  it("returns every member once, and differences only where something differs", () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.tuple(value, value), { maxKeys: 6 }), (changed) => {
        const { differences, facts } = entryDetail({ changed, name: "n" });
        expect(facts).toEqual([["name", "n"]]);
        expect(new Set(differences.map(({ field }) => field)).size).toBeLessThanOrEqual(differences.length);
        for (const one of differences)
          expect(one.isSecret || JSON.stringify(one.before) !== JSON.stringify(one.after)).toBe(true);
        const isSame = Object.values(changed).every(([a, b]) => JSON.stringify(a) === JSON.stringify(b));
        if (isSame) expect(differences).toEqual([]);
      }),
    );
  });

  it("never throws, and drops nothing that is not understood", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("changed", "name", "x"), fc.jsonValue()), (detail) => {
        const { differences, facts } = entryDetail(detail);
        expect(Array.isArray(differences)).toBe(true);
        const named = facts.map(([name]) => name);
        for (const name of Object.keys(detail)) if (name !== "changed") expect(named).toContain(name);
      }),
    );
  });
});
