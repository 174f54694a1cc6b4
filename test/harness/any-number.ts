/** Numbers of every kind that IEEE 754 and JSON have, for properties of code that takes numbers. */
import fc from "fast-check";

/** The largest amount of tokens or money that budgets count (docs/rules/budgets.md#amounts). */
const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;

/** Numbers at which arithmetic behaves differently, or that are a limit of some type. */
const CORNERS = [
  0,
  -0,
  1,
  -1,
  0.1,
  0.5,
  1.5,
  1e-9,
  5e-324,
  Number.MIN_VALUE * 3,
  1e308,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  MAX_AMOUNT - 1,
  MAX_AMOUNT,
  MAX_AMOUNT + 1,
  -MAX_AMOUNT,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 54,
  2 ** 63,
  2 ** 53 + 2,
  -(2 ** 53),
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
];

export const anyNumber: fc.Arbitrary<number> = fc.oneof(fc.constantFrom(...CORNERS), fc.double(), fc.maxSafeInteger());

export const mostlyAmounts: fc.Arbitrary<number> = fc.oneof(
  { weight: 12, arbitrary: fc.nat(1_000) },
  { weight: 6, arbitrary: fc.maxSafeNat() },
  { weight: 6, arbitrary: fc.constantFrom(MAX_AMOUNT, MAX_AMOUNT - 1, 2 ** 52, 0, 1) },
  { weight: 3, arbitrary: anyNumber },
);

/** Numbers that a record may hold although they make no sense. */
export const hostileNumber: fc.Arbitrary<number> = fc.oneof(fc.nat(10_000), anyNumber);
