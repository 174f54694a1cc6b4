/**
 * The types of the Management API's fields (docs/rules/management-api.md#values): trimmed strings with bounds, whole numbers,
 * money, timestamps. Messages state what is allowed, for a person who reads them in an error body.
 */
import * as z from "zod";
import { BUDGET_PERIODS } from "../fields/common-fields.ts";
import { byRateField } from "../fields/rates.ts";
import { AMOUNT_MAX } from "../money/amount.ts";
import { parseTimestamp } from "../time/timestamp.ts";

/** False for a text that a database cannot hold: one with NUL or with half a surrogate pair. */
export const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();
export const NOT_STORABLE = "must not contain NUL or an unpaired surrogate";

const DEPTH_MAX = 64;
export const NOT_STORABLE_JSON = `must not contain NUL or an unpaired surrogate, nor be nested deeper than ${DEPTH_MAX} levels`;

/** True for a JSON value that a database can hold, with all names and texts in it, and whose nesting is limited. */
export function isStorableJson(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) return false;
    if (level.some((item) => typeof item === "string" && !isStorable(item))) return false;
    const objects = level.filter((item): item is object => typeof item === "object" && item !== null);
    if (objects.some((item) => Object.keys(item).some((name) => !isStorable(name)))) return false;
    level = objects.flatMap((item) => Object.values(item) as unknown[]);
  }
  return true;
}

/** Required text of 1..max characters after trimming. */
export const requiredText = (max: number) =>
  z
    .string({ error: "must be a string" })
    .trim()
    .min(1, "must not be blank")
    .max(max, `must be at most ${max} characters`)
    .refine(isStorable, NOT_STORABLE);

/** Text of 0..max characters after trimming. */
export const freeText = (max: number) =>
  z
    .string({ error: "must be a string" })
    .trim()
    .max(max, `must be at most ${max} characters`)
    .refine(isStorable, NOT_STORABLE);

/** A text that can be null; a blank one is null. */
export const blankIsNull = (text: z.ZodType<string, string>) => text.nullable().transform((value) => value || null);

/**
 * A message that another part reports, such as a scheduler's. No text is refused, because a report must not be lost: characters
 * that a database cannot hold are replaced, and a text longer than `max` characters is cut between characters.
 */
export const reportedText = (max: number) =>
  z.string({ error: "must be a string" }).transform((text) => {
    const storable = text
      .trim()
      .slice(0, 2 * max)
      .replaceAll("\0", "\ufffd")
      .toWellFormed();
    return Array.from(storable).slice(0, max).join("");
  });

/** Characters of a name. */
export const KNOWN_NAME_MAX = 200;

/** The name of something that exists already; an earlier version may have accepted names that this version refuses. */
export const knownName = requiredText(KNOWN_NAME_MAX);

/**
 * Control characters, line and paragraph separators, and format characters other than the joiners that scripts and emoji
 * need.
 */
const UNSHOWABLE = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;
const VISIBLE = /[^\p{Z}\p{C}\p{M}]/u;

/**
 * The requirements on a name other than its length. It is one line of visible characters, so it neither reorders nor breaks a text
 * that shows it. It has only one spelling, so that two names which look alike and differ only in their bytes are the same name.
 */
export function refuseOddName(name: string, context: z.core.$RefinementCtx<string>): void {
  const complain = (message: string): void => context.addIssue({ code: "custom", message });
  if (name === "") return;
  if (UNSHOWABLE.test(name)) complain("must not contain control characters, line breaks or invisible characters");
  else if (!VISIBLE.test(name)) complain("must not be blank");
  else if (name.normalize("NFC") !== name) complain("must be in Unicode normalization form C (composed characters)");
}

export const ADDRESS = /^[^\s@<>(),;:"\\]+@[^\s@<>(),;:"\\]+$/;
export const NOT_AN_ADDRESS = "must be an email address";
export const mailAddress = requiredText(320).regex(ADDRESS, NOT_AN_ADDRESS);

/** A required name that an admin gives. */
export const nameField = knownName.superRefine(refuseOddName);
/** An optional name that an admin gives. */
export const optionalName = freeText(200).superRefine(refuseOddName);
export const descriptionField = freeText(2000);

/** A whole number within bounds, a safe integer at most. */
export const whole = (min: number, max = Number.MAX_SAFE_INTEGER) => {
  const error = ({ code }: { readonly code: string }) =>
    max === Number.MAX_SAFE_INTEGER && code !== "too_big"
      ? `must be a whole number of at least ${min}`
      : `must be a whole number from ${min} to ${max}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
};

/** A finite amount of at least 0. */
export const amount = z.number({ error: "must be a number of at least 0" }).min(0, "must be a number of at least 0");

export const flag = z.boolean({ error: "must be true or false" });

const TIMESTAMP = "must be a valid ISO 8601 time with Z or an offset, such as 2026-11-21T08:00:00Z";

/**
 * A point in time (docs/rules/management-api.md#times): ISO 8601 with `Z` or an offset in, ISO 8601 in UTC
 * with milliseconds out.
 */
export const timestamp = z
  .string({ error: TIMESTAMP })
  .trim()
  .transform((text, context) => {
    const epochMs = parseTimestamp(text);
    if (epochMs !== null) return new Date(epochMs).toISOString();
    context.addIssue({ code: "custom", message: TIMESTAMP });
    return z.NEVER;
  })
  .meta({ format: "date-time" });

/**
 * Decides when a rule about several fields of an object is checked: as soon as these fields are valid, even when others are
 * not, so that a refusal lists every wrong field at once (docs/rules/errors.md#wrong-fields).
 */
export const whenValid =
  (...fields: readonly string[]) =>
  ({ issues }: z.core.ParsePayload): boolean =>
    !issues.some(({ path = [] }) => path.length === 0 || fields.includes(String(path[0])));

/** One value of a closed list; the message names all of them. */
export const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `must be one of ${values.join(", ")}` });

/** One value of a closed list, lower-cased first. */
export const oneOfLowered = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.preprocess((value) => (typeof value === "string" ? value.trim().toLowerCase() : value), oneOf(values));

/** A budget period, lower-cased; `""` becomes null (docs/rules/tenants.md#budget-fields). */
const budgetPeriod = z.preprocess(
  (value) => (typeof value === "string" ? value.trim().toLowerCase() || null : value),
  oneOf(BUDGET_PERIODS).nullable(),
);

/** The same fields, each or null. */
export function orNull<S extends Readonly<Record<string, z.ZodType>>>(shape: S) {
  const entries = Object.entries(shape).map(([name, field]) => [name, field.nullable()] as const);
  return Object.fromEntries(entries) as { readonly [K in keyof S]: z.ZodNullable<S[K]> };
}

/** The revision of a record (docs/rules/management-api.md#lost-updates). */
export const revField = z
  .number()
  .int()
  .meta({ description: "Revision of the record. It grows with every write; send it as `If-Match`" });

/** Warnings in the answer of a write. Absent when there are none, and in reads. */
export const warningsField = z
  .array(z.string())
  .optional()
  .meta({ description: "Warnings about this write. Absent if there are none, and on reads" });

/** In nano-USD it is still an amount (docs/rules/budgets.md#amounts). */
const BUDGET_MAX_USD = Math.floor(AMOUNT_MAX / 1e9);

/** The four budget fields of tenants and keys. An omitted field stays undefined. */
export const budgetFields = {
  budget_tokens: whole(0).nullable().optional(),
  budget_cost_usd: amount.max(BUDGET_MAX_USD, `must be a number from 0 to ${BUDGET_MAX_USD}`).nullable().optional(),
  budget_period: budgetPeriod.optional(),
  budget_started_at: timestamp.nullable().optional(),
};

/** The budget of each end user of a tenant; an omitted field keeps its value. */
export const endUserBudgetFields = {
  end_user_budget_tokens: budgetFields.budget_tokens,
  end_user_budget_cost_usd: budgetFields.budget_cost_usd,
  end_user_budget_period: budgetFields.budget_period,
};

/** An IANA zone name. The runtime would also accept an offset, but this schema does not. */
export const timezone = freeText(100).refine(isZone, "must be an IANA time zone name");

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return /^[A-Za-z]/.test(name);
  } catch {
    return false;
  }
}

/** A text in a query that is compared with stored texts. */
export const queryText = z.string().refine(isStorable, NOT_STORABLE);

/** The id of a stored row. */
export const storedId = z
  .string({ error: "must be a UUID" })
  .toLowerCase()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, "must be a UUID");

/** When a stored row was created and last changed. */
export const storedTimes = { created_at: timestamp, updated_at: timestamp };

const perMinute = whole(0);

/** The limits per minute of a tenant or key; 0: none. */
export const storedRates = byRateField(perMinute.default(0));

/** The same in a body that changes them: omitted fields keep their value. */
export const rateFields = byRateField(perMinute.optional());

/** The four stored budget columns of tenants and keys. An earlier version accepted every cost. */
export const storedBudget = {
  budget_tokens: whole(0).nullable().default(null),
  budget_cost_usd: amount.nullable().default(null),
  budget_period: oneOf(BUDGET_PERIODS).nullable().default(null),
  budget_started_at: timestamp.nullable().default(null),
};

export const storedEndUserBudget = {
  end_user_budget_tokens: storedBudget.budget_tokens,
  end_user_budget_cost_usd: storedBudget.budget_cost_usd,
  end_user_budget_period: storedBudget.budget_period,
};

const MODEL_NAMES_MAX = 2000;
/** Of all names together, as UTF-8: every copy of a key has them. */
const MODEL_NAMES_MAX_BYTES = 200_000;

/**
 * Names of models that may be used, as a body gives them: trimmed, without blanks and duplicates; an empty list is null. One of
 * blanks alone is a mistake, and must not permit every model. The models need not exist (docs/rules/tenants.md#allowed-models).
 */
export const modelNames = z
  .array(freeText(200), { error: "must be null or an array of model names" })
  .refine(
    (names) => names.length === 0 || names.some((name) => name !== ""),
    "must name a model: [] or null permits every model",
  )
  .nullable()
  .transform((names) => {
    const kept = [...new Set(names ?? [])].filter((name) => name !== "");
    return kept.length === 0 ? null : kept;
  })
  .refine((names) => (names ?? []).length <= MODEL_NAMES_MAX, `must have at most ${MODEL_NAMES_MAX} names`)
  .refine(
    (names) => new TextEncoder().encode((names ?? []).join("")).byteLength <= MODEL_NAMES_MAX_BYTES,
    `must have at most ${MODEL_NAMES_MAX_BYTES} bytes in all`,
  );

type PatchShape<S> = { readonly [K in keyof S]: z.ZodOptional<z.ZodType<Exclude<z.output<S[K]>, undefined>>> };

/** The fields of a PATCH (RFC 7396) from those of a creation: an absent field keeps its value, and null means the default. */
export function patchShape<S extends Readonly<Record<string, z.ZodType>>>(shape: S): PatchShape<S> {
  const entries = Object.entries(shape).map(([name, field]) => [name, patchField(field)] as const);
  return Object.fromEntries(entries) as unknown as PatchShape<S>;
}

function patchField(field: z.ZodType): z.ZodType {
  if (!(field instanceof z.ZodDefault)) return field instanceof z.ZodOptional ? field : field.optional();
  const own = field.unwrap() as z.ZodType;
  if (own.safeParse(null).success) return own.optional();
  const initial: unknown = field.parse(undefined);
  return own
    .nullable()
    .transform((value) => value ?? initial)
    .optional();
}

/** A credential in its stored form: sealed or plain. */
export const storedSecret = z
  .string({ error: "must be a string or null" })
  .max(8000, "must be at most 8000 characters")
  .regex(/^[\x20-\x7e]*$/, "must be printable ASCII")
  .nullable()
  .default(null);

/** A UUID in a query, lower-cased. Any version is accepted, as in a path, because a restored record may have any. */
export const uuidQuery = z
  .string()
  .trim()
  .check(z.guid("must be a UUID"))
  .transform((value) => value.toLowerCase());

/** Unix epoch milliseconds in a query. */
export const epochMsQuery = z
  .string()
  .regex(/^\d{1,15}$/, "must be Unix epoch milliseconds")
  .transform(Number);
