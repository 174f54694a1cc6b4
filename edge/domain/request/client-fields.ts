/**
 * The fields of a client's body that admission and billing depend on (docs/rules/token-estimates.md#client-limits):
 * what they may contain, and how they may be written. A field that is read here must be read in the same way by every
 * upstream: parsers differ in which of two equal names they use, and some ignore the case of names or the text after a
 * NUL. Such bodies are refused, never interpreted.
 */
import type { JsonObject } from "../wire/json/document.ts";
import { printable } from "../wire/text/printable.ts";
import type { RouteClass } from "./route-class.ts";

/** The fault of a field: its name, and a sentence that says what it must be. */
export interface FieldFault {
  readonly param: string;
  readonly message: string;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

/**
 * Fields that limit an answer's tokens. Of several the largest counts (docs/rules/token-estimates.md#client-limits).
 */
export const TOKEN_LIMITS = ["max_tokens", "max_completion_tokens", "max_output_tokens"] as const;

/** Fields of a form that models read, and that must be written plainly (docs/rules/guardrails.md#where-it-looks). */
export const GUARDED_FIELDS = ["prompt", "input", "instructions", "negative_prompt", "hotwords", "ref_text"] as const;

/** Fields of a form that no model reads: settings, and files that some clients send as texts. */
const UNREAD_FIELDS: ReadonlySet<string> = new Set(
  "model n user stream size quality background moderation style output_format output_compression partial_images response_format input_fidelity temperature timestamp_granularities timestamp_granularities[] include include[] chunking_strategy max_tokens max_completion_tokens max_output_tokens seed session_id file image image[] mask known_speaker_references known_speaker_references[]".split(
    " ",
  ),
);

/** Whether guardrails examine a field of a form that is not a file. */
export function isGuardedField(name: string): boolean {
  return !UNREAD_FIELDS.has(name);
}

const TOKENS: Bounds = { min: 0, max: 2_147_483_647 };
const CHOICES: Bounds = { min: 1, max: 1000 };

/** The numbers of a body that are checked, with the least and the largest that they can be. */
export const CHECKED_NUMBERS: ReadonlyMap<string, Bounds> = new Map([
  ...TOKEN_LIMITS.map((name): [string, Bounds] => [name, TOKENS]),
  ["n", CHOICES],
]);

/** The fields that a response continues (named-objects.ts). */
const CONTINUED = ["previous_response_id", "conversation"] as const;

/** Whether an answer is kept, and made without a reader. */
const KEPT = ["store", "background"] as const;

const FIELDS = ["model", ...TOKEN_LIMITS, "n", "input", "stream", ...CONTINUED, ...KEPT] as const;
const CHECKED: ReadonlySet<string> = new Set(FIELDS);

/** The longest name in an error, in characters; no field has a longer one. */
const NAME_MAX = 64;

/**
 * The name in lower case, up to a NUL. For each name with this form, some parser reads it as the field; no parser reads other
 * names so. The long s is the only other letter that some parsers take for an ASCII one.
 */
export function foldedName(name: string): string {
  const end = name.indexOf("\0");
  return (end === -1 ? name : name.slice(0, end)).toLowerCase().replaceAll("\u017f", "s");
}

/** True for a name that {@link spellingFault} must see. */
export function isCheckedName(name: string): boolean {
  return CHECKED.has(foldedName(name.slice(0, NAME_MAX)));
}

/** The fields of a route's body that decide its admission, billing and ownership, in the order in which faults are reported. */
export function decidingFields({ estimate, billedBy }: RouteClass): readonly string[] {
  return [
    "model",
    ...(billedBy === "tokens" ? TOKEN_LIMITS : []),
    "n",
    "stream",
    ...(billedBy === "characters" ? ["input"] : []),
    ...(estimate === "responses" ? ["input", ...CONTINUED, ...KEPT] : []),
  ];
}

/**
 * The first of `fields` that a body names in another form (case, or a NUL and text after it), or twice; null: none. `names`
 * are the names of the body, repeated as often as in the body. `model` may occur twice in JSON: all of them are replaced by
 * the same value upstream.
 */
export function spellingFault(names: readonly string[], fields: readonly string[]): FieldFault | null {
  for (const name of names) {
    if (fields.includes(name)) continue;
    const field = foldedName(name.slice(0, NAME_MAX));
    if (!fields.includes(field)) continue;
    const param = printable(name, NAME_MAX);
    return { param, message: `field '${param}' must be written '${field}'` };
  }
  const repeated = fields.find((field) => field !== "model" && names.indexOf(field) !== names.lastIndexOf(field));
  return repeated === undefined ? null : repeatedFault(repeated);
}

/** The fault of a form's field that names an object of its upstream. */
export function idFault(name: string): FieldFault {
  return {
    param: printable(name, NAME_MAX),
    message: "a form must contain the file, not its id or its place on the server",
  };
}

/** The fault of a field that occurs twice. */
export function repeatedFault(field: string): FieldFault {
  const param = printable(field, NAME_MAX);
  return { param, message: `${param} must be given only once` };
}

/**
 * The first number of a JSON body that is out of its bounds; null or absent fields have no fault. The value counts, not its
 * spelling.
 */
export function numberFault(root: JsonObject): FieldFault | null {
  for (const [name, bounds] of CHECKED_NUMBERS) {
    const value = Object.hasOwn(root, name) ? root[name] : undefined;
    if (value !== undefined && value !== null && !isWithin(value, bounds)) return outOfBounds(name, bounds);
  }
  return null;
}

/**
 * The first switch of a JSON body that a decision depends on and that is not a boolean: some upstreams read 1 or a text as
 * true.
 */
export function switchFault(route: RouteClass, root: JsonObject): FieldFault | null {
  const name = ["stream", ...(route.estimate === "responses" ? KEPT : [])].find(
    (each) => Object.hasOwn(root, each) && ![true, false, null].includes(root[each] as never),
  );
  return name === undefined ? null : { param: name, message: `${name} must be true or false` };
}

/**
 * Like {@link numberFault}, for a field of a form, whose numbers are texts: plain digits, which every parser reads alike. `field`:
 * the one whose bounds it has.
 */
export function numberTextFault(name: string, text: string, field = name): FieldFault | null {
  const bounds = CHECKED_NUMBERS.get(field);
  if (bounds === undefined) return null;
  return /^(?:0|[1-9]\d{0,9})$/.test(text) && isWithin(Number(text), bounds)
    ? null
    : outOfBounds(printable(name, NAME_MAX), bounds);
}

/** A fault when the input of a route that is billed by characters is not a text. */
export function inputFault(route: RouteClass, root: JsonObject): FieldFault | null {
  if (route.billedBy !== "characters" || typeof root["input"] === "string") return null;
  return { param: "input", message: "input must be a string" };
}

function isWithin(value: unknown, { min, max }: Bounds): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
}

function outOfBounds(name: string, { min, max }: Bounds): FieldFault {
  return { param: name, message: `${name} must be an integer between ${min} and ${max}` };
}
