/** The price list that comes with the gateway (docs/rules/models.md#price-list). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, it } from "vitest";
import { listPrices, readPriceList } from "./price-list.ts";

let folder: string;
let lines: { event: string; file: string; reason: string }[];
const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-prices-"));
  lines = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("has a source, a date and a price for every model, and every name once", () => {
  const shipped = readPriceList(join(import.meta.dirname, "../../recipes"), log);
  expect(lines).toEqual([]);
  expect(shipped.length).toBeGreaterThan(10);
  const names = shipped.flatMap(({ models }) => models);
  expect(new Set(names).size).toBe(names.length);
  for (const { source, prices } of shipped) {
    expect(source).toMatch(/^https:\/\//);
    for (const usd of Object.values(prices)) expect(usd).toBeGreaterThan(0);
  }
});

it("gives the entry that has the name exactly, and all without one", () => {
  const entry = { models: ["a", "a-2026"], source: "https://example.org", as_of: "2026-01-01", note: "", prices: {} };
  const other = { ...entry, models: ["b"] };
  expect(listPrices([entry, other], { model: "a-2026" })).toEqual({ list: [entry] });
  expect(listPrices([entry, other], {})).toEqual({ list: [entry, other] });
  expect(listPrices([entry, other], { model: "A" })).toEqual({ list: [] });
});

it("is empty without a file or with an unusable one; the log says why", () => {
  expect({ list: readPriceList(folder, log), lines }).toEqual({ list: [], lines: [] });
  const prices = { input_cost_per_token: -1 };
  const entry = { models: ["a"], source: "https://example.org", as_of: "2026-01-01", prices };
  writeFileSync(join(folder, "prices.json"), JSON.stringify({ list: [entry] }));
  expect(readPriceList(folder, log)).toEqual([]);
  expect(lines).toEqual([
    expect.objectContaining({
      event: "recipe_unreadable",
      file: "prices.json",
      reason: "list.0.prices.input_cost_per_token: must be a number of at least 0",
    }),
  ]);
});
