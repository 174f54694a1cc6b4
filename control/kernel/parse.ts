/**
 * Parses input into a typed body: the only place where a schema's errors become error details
 * (docs/rules/errors.md#wrong-fields).
 */
import type { z } from "zod";
import { type ErrorDetail, GatewayError } from "../../shared/errors.ts";

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The most wrong fields that a refusal lists: a body of one small mistake per byte must not become an answer of many times its size. */
export const DETAILS_MAX = 1000;

const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

const UNITS: Readonly<Record<string, string>> = { string: " characters", array: " entries" };

/** How inputs are parsed: what a schema has no words of its own for is said in ours, never in the validator's. */
export const IN_WORDS: z.core.ParseContext<z.core.$ZodIssue> = {
  error: (issue) => {
    if (issue.code === "invalid_type") return `must be ${TYPES[issue.expected] ?? "another value"}`;
    if (issue.code === "invalid_value") return `must be one of ${issue.values.join(", ")}`;
    if (issue.code === "too_small") return `must be at least ${issue.minimum}${UNITS[issue.origin] ?? ""}`;
    if (issue.code === "too_big") return `must be at most ${issue.maximum}${UNITS[issue.origin] ?? ""}`;
    return "is not valid";
  },
};

/** The parsed input. Throws 400 `validation_failed` with one detail per wrong field. */
export function parse<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input, IN_WORDS);
  if (result.success) return result.data;
  throw fieldErrors(errorDetailsOf(result.error));
}

/**
 * One detail per wrong field, with the field's first error, at most {@link DETAILS_MAX}. `under` is the place of the input in a larger one. `from` is
 * how many steps at the start of a path the caller has added itself.
 */
export function errorDetailsOf(error: z.ZodError, under: readonly (string | number)[] = [], from = 0): ErrorDetail[] {
  const messages = new Map<string, string>();
  for (const issue of error.issues) {
    if (messages.size === DETAILS_MAX) break;
    const at = [...under, ...issue.path.slice(from)];
    const path = at.join(".") || "body";
    if (!messages.has(path)) messages.set(path, at.length === 0 ? "must be a JSON object" : issue.message);
  }
  return [...messages].map(([path, message]) => ({ path, message }));
}

/** For a line of the log. */
export const inWords = (details: readonly ErrorDetail[]): string =>
  details.map(({ path, message }) => `${path} ${message}`).join("; ");

/**
 * The id of a path in lower case. Throws 404 `not_found` for a text that is not a UUID
 * (docs/rules/errors.md#management-codes).
 */
export function parseId(id: string): string {
  if (!UUID.test(id)) throw new GatewayError("not_found");
  return id.toLowerCase();
}

/** The error for one refused field. */
export function fieldError(path: string, message: string): GatewayError {
  return fieldErrors([{ path, message }]);
}

/** The error for several refused fields; `param` is the first (docs/rules/errors.md#wrong-fields). */
export function fieldErrors(details: readonly ErrorDetail[]): GatewayError {
  return new GatewayError("validation_failed", { details: details.slice(0, DETAILS_MAX) });
}

/**
 * Refuses a query that gives one of these parameters more than once: whichever of the values was taken, the caller may have
 * meant the other. Throws 400 that names every one.
 */
export function refuseRepeated(query: Pick<URLSearchParams, "getAll">, names: readonly string[]): void {
  const repeated = names.filter((name) => query.getAll(name).length > 1);
  refuseIfAny(repeated.map((path) => ({ path, message: "must be given only once" })));
}

/** Throws the error for the details, if there are any. */
export function refuseIfAny(details: readonly ErrorDetail[]): void {
  if (details.length > 0) throw fieldErrors(details);
}

/** Refuses blank fields without which an enabled feature cannot work. Throws 400 that names every one. */
export function requireWhenEnabled<T extends object>(settings: T, fields: readonly (keyof T & string)[]): void {
  const blank = fields.filter((field) => settings[field] === "");
  refuseIfAny(blank.map((path) => ({ path, message: "is required when enabled is true" })));
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** The fields that were given. */
export function dropUndefined<T extends object>(fields: T): Partial<Defined<T>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Defined<T>>;
}
