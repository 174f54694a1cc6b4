/** Numbers read as people write them, whatever the number. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatCount, formatMs, formatPrice, formatShare, formatShortCount, formatText, formatUsd } from "./format.ts";

const ALL = { formatCount, formatMs, formatShare, formatShortCount, formatUsd, formatPrice };

describe.each(Object.entries(ALL))("%s", (_, format) => {
  it("shows what is not known as a dash", () => {
    for (const amount of [null, undefined, Number.NaN, Infinity, -Infinity]) expect(format(amount)).toBe("–");
  });

  it("shows every number as a number", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (amount) => {
        const text = format(amount);
        expect(text).toMatch(/\d/);
        expect(text).not.toMatch(/NaN|Infinity|undefined|\be\b/);
      }),
    );
  });
});

it.each([
  [0, "$0.00"],
  [1234.5, "$1,234.50"],
  [0.25, "$0.250"],
  [0.1, "$0.100"],
  [0.9999, "$1.00"],
  [0.012345, "$0.0123"],
  [0.000012, "$0.0000120"],
  [0.000000001, "$0.000000001"],
  [-3, "-$3.00"],
])("formats %s dollars as %s", (usd, text) => {
  expect(formatUsd(usd)).toBe(text);
});

it("never shows money that is there as none, down to the ninth decimal", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000_000_000 }), (nanoUsd) => {
      expect(formatUsd(nanoUsd / 1e9)).toMatch(/[1-9]/);
    }),
  );
});

it.each([
  [0, "0 ms"],
  [0.42, "0.42 ms"],
  [999.4, "999 ms"],
  [999.6, "1 s"],
  [1500, "1.5 s"],
  [59_940, "59.9 s"],
  [59_999, "1 min"],
  [125_000, "2 min 5 s"],
  [3_600_000, "1 h"],
  [12_000_000, "3 h 20 min"],
  [352_800_000, "4 d 2 h"],
  [-125_000, "-2 min 5 s"],
])("formats %s ms as %s", (ms, text) => {
  expect(formatMs(ms)).toBe(text);
});

it("writes a price to its last decimal", () => {
  const perToken = [1.075e-6, 2.5e-6, 1e-4, 0, 1.5e-13];
  expect(perToken.map((usd) => formatPrice(usd * 1e6))).toEqual(["$1.075", "$2.50", "$100.00", "$0.00", "$0.00000015"]);
});

it("shows a text, or the dash", () => {
  expect({ text: formatText("acme"), empty: formatText(""), missing: formatText(null) }).toEqual({
    text: "acme",
    empty: "–",
    missing: "–",
  });
});

it("shows numbers that no figure has in a few characters", () => {
  const shown = [1e308, -1e308, 1e15, Number.MAX_SAFE_INTEGER].flatMap((amount) =>
    [formatCount, formatShortCount, formatUsd, formatMs].map((format) => format(amount)),
  );
  expect(shown.filter((text) => text.length > 24)).toEqual([]);
});
