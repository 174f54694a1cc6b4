/** Numbers that a record may hold although they make no sense. */
import fc from "fast-check";

/** Any number at all, those that break arithmetic among them. */
export const hostileNumber = fc.oneof(
  fc.integer({ min: 0, max: 10_000 }),
  fc.double(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e308, -1e308, 5e-324, -0, 2 ** 53),
);
