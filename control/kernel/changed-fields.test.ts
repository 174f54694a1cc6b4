/** What the audit log keeps of an update (docs/rules/management-api.md#audit-log). */
import { expect, it } from "vitest";
import { changedFields } from "./changed-fields.ts";

const names = (count: number, mark: string) =>
  Array.from({ length: count }, (_, at) => `${mark}-${at}`.padEnd(100, "漢"));

it("short lists, times and texts are kept whole, secrets are not", () => {
  const [old, fresh] = [new Date(0), new Date(1)];
  const before = { models: ["a", "b"], until: old, name: "n", key: "old", rev: 1 };
  expect(changedFields(before, { models: ["a"], until: fresh, name: "n", key: "new", rev: 2 }, ["key"])).toEqual({
    changed: { models: [["a", "b"], ["a"]], until: [old, fresh], key: "changed" },
  });
});

it("keeps some KB of what a long list lost and gained, and how much more there was", () => {
  const [one, other] = [names(1600, "one"), names(1600, "other")];
  const all = { changed: changedFields({ models: one }, { models: other }).changed["models"] };
  const side = { count: 1600, more: 1600 - 14 };
  expect(all).toEqual({
    changed: [
      { ...side, removed: one.slice(0, 14) },
      { ...side, added: other.slice(0, 14) },
    ],
  });
  const kept = names(1600, "kept");
  expect(changedFields({ models: [...kept, "x"] }, { models: [...kept, "y"] }).changed).toEqual({
    models: [
      { count: 1601, removed: ["x"], more: 0 },
      { count: 1601, added: ["y"], more: 0 },
    ],
  });
});

it("long lists within objects, and ones that were none before, are cut as well", () => {
  const long = names(1600, "one");
  const { changed } = changedFields(
    { limits: null, models: null },
    { limits: { rate: 1, models: long }, models: long },
  );
  const cut = { count: 1600, added: long.slice(0, 14), more: 1586 };
  expect(changed).toEqual({ limits: [null, { rate: 1, models: cut }], models: [null, cut] });
});
