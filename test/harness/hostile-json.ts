/**
 * Values from all of JSON and IEEE 754, and bodies that contain them as a client may write them, with numbers that
 * JavaScript's own JSON would not write (`-0`, `1e400`).
 */
import fc from "fast-check";
import { anyNumber } from "./any-number.ts";

/** Infinity is written as a number that is too large for a double. */
export const anyJsonNumber: fc.Arbitrary<number> = fc.oneof(
  anyNumber.filter((number) => !Number.isNaN(number)),
  fc.integer({ min: -2, max: 2000 }),
);

/** Every text, and texts that have a special meaning somewhere. */
export const anyJsonText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({ unit: "grapheme-ascii", maxLength: 12 }),
  fc.constantFrom(
    "",
    " ",
    "\t\n",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff",
    "\u200b",
    "\ufeff",
    "\u202eevil",
    "a\nb",
    "\u2028",
  ),
  fc.constantFrom(
    "cafe\u0301",
    "caf\u00e9",
    "__proto__",
    "constructor",
    "null",
    "{}",
    "%00",
    "../..",
    "x".repeat(3000),
  ),
  fc.constantFrom("1e3", "NaN", "2026-02-31T00:00:00Z", "2026-02-28T00:00:00Z", "http://127.0.0.1:9/v1", "default"),
);

export const anyJsonValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: "json" },
    { arbitrary: anyJsonNumber, weight: 3 },
    { arbitrary: anyJsonText, weight: 3 },
    { arbitrary: fc.constantFrom(null, true, false), weight: 1 },
    { arbitrary: fc.array(tie("value"), { maxLength: 3, depthIdentifier: "json" }), weight: 1 },
    { arbitrary: fc.dictionary(anyJsonText, tie("value"), { maxKeys: 3, depthIdentifier: "json" }), weight: 1 },
  ),
})).value;

export function jsonText(value: unknown): string {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return value > 0 ? "1e400" : "-1e400";
    return Object.is(value, -0) ? "-0" : String(value);
  }
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  if (typeof value === "object" && value !== null)
    return `{${Object.entries(value)
      .map(([name, item]) => `${JSON.stringify(name)}:${jsonText(item)}`)
      .join(",")}}`;
  return JSON.stringify(value);
}
