/**
 * The fields of a client's body that admission and billing rest on (decisions §43.1): what they may hold, and how they may be
 * written. A field that is read here must be read the same by every upstream: parsers differ in which of two equal names
 * they take, and some ignore the case of names or what follows a NUL. Such bodies are refused, never interpreted.
 */
import type { JsonObject } from "../json/document.ts";
import type { RouteClass } from "../routing/route-class.ts";
import { printable } from "../text/printable.ts";

/** What is wrong with a field: its name, and a sentence that says what it has to be. */
export interface FieldFault {
  readonly param: string;
  readonly message: string;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** Limits of an answer's tokens. Of several the largest counts (decisions §43.1). */
export const TOKEN_LIMITS = ["max_tokens", "max_completion_tokens", "max_output_tokens"] as const;

const TOKENS: Bounds = { min: 0, max: 2_147_483_647 };
const CHOICES: Bounds = { min: 1, max: 1000 };

const NUMBERS: ReadonlyMap<string, Bounds> = new Map([
  ...TOKEN_LIMITS.map((name): [string, Bounds] => [name, TOKENS]),
  ["n", CHOICES],
]);

const FIELDS = ["model", ...TOKEN_LIMITS, "n", "input"] as const;
const sameAs = (pattern: string): RegExp => new RegExp(`^(?:${pattern})(?:\\0|$)`, "iu");
/** By field: every name that some parser takes for it, whatever its case, also before a NUL. */
const SAME: ReadonlyMap<string, RegExp> = new Map(FIELDS.map((field) => [field, sameAs(field)]));
const JUDGED = sameAs(FIELDS.join("|"));

/** A name in an error, in characters. */
const NAME_MAX = 64;

/** Whether {@link spellingFault} has to see this name. */
export function isJudgedName(name: string): boolean {
  return JUDGED.test(name);
}

/** The fields of a route's body that decide what it is admitted with and billed, in the order in which faults are told. */
export function decidingFields({ estimate, billedBy }: RouteClass): readonly string[] {
  const limited = estimate === "messages" || estimate === "prompt" || estimate === "responses" || estimate === "any";
  return ["model", ...(limited ? TOKEN_LIMITS : []), "n", ...(billedBy === "characters" ? ["input"] : [])];
}

/**
 * The first of `fields` that a body names in another spelling (case, or a NUL and what follows), or twice; null: none.
 * `names` are those of the body, repeated as often as they are in it. `model` may come twice in JSON: upstream every one of
 * them is the same.
 */
export function spellingFault(names: readonly string[], fields: readonly string[]): FieldFault | null {
  for (const name of names) {
    if (fields.includes(name)) continue;
    const field = fields.find((one) => SAME.get(one)?.test(name) === true);
    if (field === undefined) continue;
    const param = printable(name, NAME_MAX);
    return { param, message: `field '${param}' must be written '${field}'` };
  }
  const repeated = fields.find((field) => field !== "model" && names.indexOf(field) !== names.lastIndexOf(field));
  return repeated === undefined ? null : repeatedFault(repeated);
}

/** The fault of a field that comes twice. */
export function repeatedFault(field: string): FieldFault {
  return { param: field, message: `${field} must be given once` };
}

/** The first number of a JSON body that is out of its bounds; null and absent are none. By its value, not its spelling. */
export function numberFault(root: JsonObject): FieldFault | null {
  for (const [name, bounds] of NUMBERS) {
    const value = Object.hasOwn(root, name) ? root[name] : undefined;
    if (value !== undefined && value !== null && !isWithin(value, bounds)) return outOfBounds(name, bounds);
  }
  return null;
}

/** The same of a field of a form, whose numbers are texts: plain digits, which every parser reads alike. */
export function numberTextFault(name: string, text: string): FieldFault | null {
  const bounds = NUMBERS.get(name);
  if (bounds === undefined) return null;
  return /^(?:0|[1-9]\d{0,9})$/.test(text) && isWithin(Number(text), bounds) ? null : outOfBounds(name, bounds);
}

/** What is billed by its characters has to be a text to be counted. */
export function inputFault(route: RouteClass, root: JsonObject): FieldFault | null {
  const input = root["input"];
  if (route.billedBy !== "characters" || input === undefined || input === null || typeof input === "string")
    return null;
  return { param: "input", message: "input must be a string" };
}

function isWithin(value: unknown, { min, max }: Bounds): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
}

function outOfBounds(name: string, { min, max }: Bounds): FieldFault {
  return { param: name, message: `${name} must be an integer between ${min} and ${max}` };
}
