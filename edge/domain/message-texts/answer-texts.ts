/**
 * The texts of an answer, or of one event of a streamed answer, that output guardrails examine: every string but those of
 * closed lists (unread-answer-members.ts). Content, reasoning and the arguments of tool calls, by the names that the protocols
 * give them, can continue in the next event of a stream (docs/rules/guardrails.md#where-it-looks). Parts that an answer repeats
 * from its request are not examined.
 */

import type { Steps } from "../../../shared/steps.ts";
import { objectOf, textOf } from "../dialect/values.ts";
import { jsonInSteps } from "../wire/json/write-in-steps.ts";
import { isAboutAnswer, isNoText } from "./unread-answer-members.ts";

/** A text in a parsed document: `holder[name]` is the text, or the value that the text is the JSON of. */
export interface AnswerText {
  readonly holder: Record<string | number, unknown>;
  readonly name: string | number;
  readonly text: string;
  /** JSON: the arguments of a tool call. */
  readonly json: boolean;
  /** See {@link kindOf}. */
  readonly kind: string;
  /** The JSON represents a value that is not a string. No later text continues it. */
  readonly ofValue?: boolean;
  /** No name marks it as a text that continues: it is complete, and no part of another text. */
  readonly alone?: boolean;
  /**
   * Its place, from the root: names, and for an element of a list its own `index`, or else its position. The same place in the
   * next event of a stream continues the text. A deeper place than {@link PLACE_MAX} steps is cut at this depth; a long name is
   * cut, and one that does not fit into {@link PLACE_CHARACTERS_MAX} is left out: no honest answer has such places.
   */
  readonly place: readonly (string | number)[];
}

/** The texts of a document, and the objects in it that list its tokens or words once more. */
export interface AnswerParts {
  readonly texts: readonly AnswerText[];
  readonly withLogprobs: readonly Record<string, unknown>[];
  /** False: there are more texts than are looked at. */
  readonly isWhole: boolean;
  /**
   * Something else than a text, or parts of one, stands where a text is expected, or elements of a list have no numbers of their own.
   * Of a stream, clients then read different texts.
   */
  readonly isOdd: boolean;
}

/** Lists of the pieces of a text: tokens, and the words of a transcription. */
const PIECE_LISTS: ReadonlySet<string> = new Set(["logprobs", "words"]);

const TEXT_NAMES = new Set([
  "content",
  "text",
  "output_text",
  "refusal",
  "explanation",
  "reasoning",
  "reasoning_content",
  "thinking",
  "transcript",
  "response",
  "completion",
  "generated_text",
  "arguments",
  "partial_json",
]);
const JSON_NAMES = new Set(["arguments", "partial_json"]);
/** The arguments of the model's tool calls, and their results: members of an item of output whose type ends with `_call`. */
const CALL_MEMBERS = new Set(["input", "action", "operation", "code", "output", "outputs", "results", "queries"]);
/** The end of types of events whose `delta` is sound, not text. */
const SOUND = "audio.delta";

/** Lists whose elements clients find by their `index`. */
const INDEXED: ReadonlySet<unknown> = new Set(["choices", "tool_calls"]);

/** The JSON of tool arguments that are not a text. */
const NO_TEXT: ReadonlySet<string> = new Set(["{}", "[]", "null", "true", "false"]);

/** Texts that are looked at; honest answers have fewer. */
const TEXTS_MAX = 256 * 1024;
const PLACE_MAX = 16;
const NAME_MAX = 64;
/** The names of a place together: each text is compared by its place. */
const PLACE_CHARACTERS_MAX = 256;
/** Work for a member or an element, in units. */
const ENTRY_UNITS = 12;
/** Characters of a place that one unit of work writes. */
const CHARACTERS_PER_UNIT = 8;
/** A step is taken after so many units. */
const STEP_UNITS = 1024;

interface Open {
  readonly value: object;
  readonly place: readonly (string | number)[];
  /** The last step of its place, however deep; null: it is the document. */
  readonly step: string | number | null;
  readonly depth: number;
  readonly kind: string;
  /** It is a list where a text is expected. */
  readonly isTextList: boolean;
}

/** The texts of a parsed answer or event, in order. A value of any shape and depth is walked in linear time. */
export function* answerParts(document: unknown): Steps<AnswerParts> {
  const texts: AnswerText[] = [];
  const withLogprobs: Record<string, unknown>[] = [];
  if (!isObject(document)) return { texts, withLogprobs, isWhole: true, isOdd: false };
  const open: Open[] = [{ value: document, place: [], step: null, depth: 0, kind: "", isTextList: false }];
  const isPiece = isDelta((document as { readonly type?: unknown }).type);
  let units = 0;
  let isOdd = false;
  let isMixed = false;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, place, step, depth, kind, isTextList } = next;
    const holder = value as Record<string | number, unknown>;
    const inside: Open[] = [];
    if (Array.isArray(value) && INDEXED.has(step)) isOdd ||= !areInOrder(value);
    for (const name of Array.isArray(value) ? value.keys() : Object.keys(value)) {
      let inner = holder[name];
      // of such a list texts are found before parts
      isMixed ||= isTextList && isObject(inner) !== isObject(holder[0]);
      isOdd ||= (isTextList && !isObject(inner)) || (name === "delta" && Array.isArray(inner));
      // some clients join numbers to texts
      if (typeof inner === "number" && isText(holder, name, step)) {
        isOdd = true;
        inner = String(inner);
      }
      if (texts.length >= TEXTS_MAX) return { texts, withLogprobs, isWhole: false, isOdd };
      units += ENTRY_UNITS;
      if (units >= STEP_UNITS) {
        yield units;
        units = 0;
      }
      if (typeof name === "string") {
        if (isAboutAnswer({ holder, place, depth }, name)) continue;
        if (PIECE_LISTS.has(name) && isObject(inner)) {
          withLogprobs.push(holder as Record<string, unknown>);
          continue;
        }
      }
      if (typeof inner === "string") {
        const isKnown = isText(holder, name, step);
        const leaf = String(typeof name === "number" ? step : name);
        if (inner === "" || (!isKnown && (isSound(holder, name) || (yield* isNoText(holder, leaf, inner))))) continue;
        const alone = !isKnown && !(isPiece && depth === 1 && step === "delta");
        texts.push({ holder, name, text: inner, json: isJson(holder, name), kind, place: placeIn(place, name), alone });
      } else if (name === "arguments" || isOfCall(holder, name, step)) {
        // numbers and names in it are texts, too
        isOdd ||= Array.isArray(inner) && (name === "arguments" || step === "custom");
        const text = yield* jsonInSteps(inner);
        if (!NO_TEXT.has(text))
          texts.push({ holder, name, text, json: true, kind, ofValue: true, place: placeIn(place, name) });
      } else if (isObject(inner)) {
        const ofInner = stepOf(name, inner);
        const isOfText = typeof name === "string" && isText(holder, name, step);
        const isList = Array.isArray(inner) && (isTextList || isOfText);
        isOdd ||= isOfText && !isList && place[0] === "choices";
        inside.push({
          value: inner,
          place: placeIn(place, ofInner),
          step: ofInner,
          depth: depth + 1,
          kind: kindOf(kind, inner),
          isTextList: isList,
        });
      }
    }
    for (let one = inside.pop(); one !== undefined; one = inside.pop()) open.push(one);
  }
  yield units;
  return { texts, withLogprobs, isWhole: !isMixed, isOdd };
}

/** Whether the elements of a list are objects in the order of their numbers: clients find them by their number, or by their place. */
function areInOrder(list: readonly unknown[]): boolean {
  let last = -1;
  return list.every((one, at) => {
    const index = objectOf(one)["index"] ?? at;
    const isNext = objectOf(one) === one && isPlace(index) && index > last;
    last = Number(index);
    return isNext;
  });
}

/** True for the number of an element of a list. Some clients read other values as one. */
export function isPlace(index: unknown): index is number {
  return Number.isSafeInteger(index) && Number(index) >= 0;
}

function placeIn(place: readonly (string | number)[], step: string | number): readonly (string | number)[] {
  if (place.length >= PLACE_MAX) return place;
  if (typeof step === "number") return [...place, step];
  const name = step.slice(0, NAME_MAX);
  const characters = place.reduce<number>((sum, one) => sum + (typeof one === "string" ? one.length : 0), name.length);
  return characters > PLACE_CHARACTERS_MAX ? place : [...place, name];
}

/** Lists of choices and messages, whose elements are separate texts. */
const APART: ReadonlySet<string | number | undefined> = new Set(["choices", "messages", "input", "contents", "output"]);

/**
 * A key that the parts of one text share, such as the parts of a message's content, and the messages of an answer of the
 * Responses API: clients join them. Null: it is no such part.
 */
export function wholeOf(given: readonly (string | number)[]): string | null {
  // an element of a list of texts is like a part with a text
  const place = typeof given.at(-1) === "number" ? [...given, "text"] : given;
  const at = place.length - 2;
  const isPart = typeof place[at] === "number" && !APART.has(place[at - 1]);
  if (!isPart) return null;
  const output = place[0] === "response" ? 1 : 0;
  const item = place[output] === "output" && place[output + 2] === "content" ? output + 1 : at;
  return JSON.stringify(place.filter((_, step) => step !== at && step !== item));
}

/**
 * The types of the objects around a text, but those of an answer of the Responses API: clients join the parts of one type, and skip
 * others between them.
 */
export function kindOf(around: string, value: unknown): string {
  const type = textOf(objectOf(value)["type"]).slice(0, NAME_MAX);
  const isJoined = Array.isArray(value) || type === "message" || type === "output_text";
  return isJoined ? around : `${around} ${type}`.slice(0, PLACE_CHARACTERS_MAX);
}

/**
 * Lists of those that share a key, in the order of their first ones; one without a key is alone. `room` is asked before a key
 * of so many characters is kept; once it refuses, all that follow are alone.
 */
export function* grouped<T>(
  all: Iterable<T>,
  keyOf: (one: T) => string | null,
  room: (characters: number) => boolean = () => true,
): Steps<readonly (readonly T[])[]> {
  const groups: T[][] = [];
  const keyed = new Map<string, T[]>();
  let hasRoom = true;
  for (const one of all) {
    const key = hasRoom ? keyOf(one) : null;
    yield ENTRY_UNITS + (key?.length ?? 0) / CHARACTERS_PER_UNIT;
    const group = key === null ? undefined : keyed.get(key);
    if (group !== undefined) {
      group.push(one);
      continue;
    }
    const first = [one];
    groups.push(first);
    if (key === null) continue;
    hasRoom = room(key.length);
    if (hasRoom) keyed.set(key, first);
  }
  return groups;
}

/** The number by which an element of a list is known. */
function stepOf(name: string | number, inner: object): string | number {
  if (typeof name === "string") return name;
  const { index } = inner as { index?: unknown };
  return isPlace(index) ? index : name;
}

function isText(
  holder: Record<string | number, unknown>,
  name: string | number,
  step: string | number | null,
): boolean {
  // an element of a list has the meaning of the list; a list that is the whole answer contains texts
  if (typeof name === "number") return step === null || TEXT_NAMES.has(String(step));
  if (name === "delta") return step === null && !isSound(holder, name);
  return TEXT_NAMES.has(name) || isOfCall(holder, name, step);
}

/** Whether an event of this type has pieces of texts. The end of a message of Anthropic's is called a delta, and its texts are complete. */
export function isDelta(type: unknown): boolean {
  return typeof type === "string" && type.endsWith("delta") && type !== "message_delta";
}

function isSound({ type }: { readonly type?: unknown }, name: string | number): boolean {
  return name === "delta" && typeof type === "string" && type.endsWith(SOUND);
}

/** Whether a member holds the arguments of a tool, or its result. */
function isOfCall({ type }: { readonly type?: unknown }, name: string | number, step: string | number | null): boolean {
  if (typeof name === "number" || !CALL_MEMBERS.has(name)) return false;
  if (name === "input" && step === "custom") return true;
  return typeof type === "string" && (type.endsWith("_call") || (name === "input" && type.includes("tool")));
}

/** Leaves out the pieces that are listed beside the texts of a document; false if there are none. */
export function* dropPieces({ withLogprobs }: AnswerParts): Steps<boolean> {
  for (const holder of withLogprobs) {
    yield ENTRY_UNITS;
    for (const name of PIECE_LISTS) if (Object.hasOwn(holder, name)) holder[name] = null;
  }
  return withLogprobs.length > 0;
}

function isJson(holder: Record<string | number, unknown>, name: string | number): boolean {
  if (name === "delta") return String(holder["type"]).includes("arguments");
  return JSON_NAMES.has(String(name));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
