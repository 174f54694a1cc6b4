/**
 * Fields that several settings share (docs/rules/settings.md#common-rules). Schemas of bodies validate
 * requests. Schemas of stored values also supply the defaults of settings that were never saved.
 */
import * as z from "zod";
import { blankIsNull, freeText, requiredText, whole } from "../common.ts";

/** A whole number where 0 keeps the stored value: 0 becomes undefined. */
export const wholeOrKeep = (min: number, max?: number) => {
  const bounded = whole(min, max);
  const error = `must be 0 to keep the stored value, or ${max === undefined ? `at least ${min}` : `${min} to ${max}`}`;
  return z
    .number({ error })
    .refine((value) => value === 0 || bounded.safeParse(value).success, error)
    .meta({ type: "integer" })
    .transform((value) => (value === 0 ? undefined : value))
    .optional();
};

/** A stored name, or null. */
export const storedName = requiredText(300).nullable().default(null);

/** A name; null or "" clears it. */
export const clearableName = blankIsNull(freeText(300)).optional();
