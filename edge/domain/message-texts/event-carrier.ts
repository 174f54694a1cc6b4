/**
 * Events that carry one piece of a text and nothing else, like the event in which the text started: they deliver held-back text
 * (docs/rules/guardrails.md#actions). An event is kept once for all its texts, in a short form, however large it is.
 */
import { atOnce, type Steps } from "../../../shared/steps.ts";
import { textOf } from "../dialect/values.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { jsonInSteps } from "../wire/json/write-in-steps.ts";
import { EVENT_NAME, writeEvent } from "./answer-events.ts";
import { answerParts } from "./answer-texts.ts";

/** The most characters that are kept of an event, as JSON. Honest ones have some hundred beside their texts. */
const KEPT_MAX = 2_048;
/** Of a longer event only its top-level members that are not objects are kept, as JSON. */
const WHOLE_MAX = 16 * 1024;
/** No client knows a longer event name. */
const FIELD_MAX = 256;

/** Work for a text, in units. */
const TEXT_UNITS = 64;
/** The same for a step of its place, and for a member. */
const STEP_UNITS = 8;

/** Placeholder for a text: the texts of a document are found again where they are not empty. */
const PLACEHOLDER = "-";

type Place = readonly (string | number)[];

/** One text and its pieces to send. */
export interface Piece {
  readonly place: Place;
  readonly text: string;
}

/** What is kept of one event. */
export class EventCarrier {
  readonly #fields: readonly string[];
  /** The JSON of the event with empty texts; null: it is too long, or the texts are those of choices. */
  readonly #whole: string | null;
  /** The short members of the event, as JSON. */
  readonly #members: string;

  private constructor(fields: readonly string[], whole: string | null, members: string) {
    this.#fields = fields;
    this.#whole = whole;
    this.#members = members;
  }

  /**
   * @param fields the lines of the event that are no data
   * @param data its data
   * @param value the parsed data, in which nothing is redacted yet that goes on
   * @param ofChoices whether it carries texts of choices: clients join names, ids and roles that come twice, so that
   * nothing else of a choice is repeated
   */
  static *of(fields: readonly string[], data: string, value: unknown, ofChoices: boolean): Steps<EventCarrier> {
    const isLong = data.length > WHOLE_MAX;
    const name = fields.findLast((line) => EVENT_NAME.test(line));
    const named = name === undefined || name.length > FIELD_MAX ? [] : [name];
    const whole = ofChoices || isLong ? null : JSON.stringify(withTexts(value, PLACEHOLDER));
    if (whole !== null && whole.length <= KEPT_MAX) return new EventCarrier(named, whole, "{}");
    return new EventCarrier(named, null, yield* shortMembers(value, isLong));
  }

  /** The characters that are kept. */
  get characters(): number {
    return this.#members.length + (this.#whole?.length ?? 0) + FIELD_MAX * this.#fields.length;
  }

  /** The text of one event with all these pieces: the event in which their texts began had all of them, too. */
  *write(pieces: readonly Piece[]): Steps<string> {
    yield this.characters;
    return writeEvent(this.#fields, yield* jsonInSteps(yield* this.#carry(pieces)));
  }

  *#carry(pieces: readonly Piece[]): Steps<unknown> {
    if (this.#whole !== null) {
      const copy: unknown = JSON.parse(this.#whole);
      fill(copy, pieces);
      return copy;
    }
    const members: object = JSON.parse(this.#members);
    const carried = (yield* nested(pieces)) as JsonObject;
    const { choices } = carried;
    if (!Array.isArray(choices)) return { ...members, ...carried };
    return { ...members, choices: choices.map((choice: object) => ({ ...choice, finish_reason: null })) };
  }
}

/** A copy of a document with this in place of each of its continuing texts. */
function withTexts(value: unknown, text: string): unknown {
  const copy: unknown = JSON.parse(JSON.stringify(value));
  for (const { holder, name, ofValue, alone } of atOnce(answerParts(copy)).texts)
    if (!alone) holder[name] = ofValue ? {} : text;
  return copy;
}

/** Puts each piece in place of one placeholder, and removes the others. */
function fill(document: unknown, pieces: readonly Piece[]): void {
  const left = new Map(pieces.map(({ place, text }) => [place.join("\n"), text]));
  for (const { holder, name, place, alone } of atOnce(answerParts(document)).texts) {
    if (alone) continue;
    const key = place.join("\n");
    holder[name] = left.get(key) ?? "";
    left.delete(key);
  }
}

/** The members of an event that are neither choices nor usage, as JSON, if they are short together. */
function* shortMembers(value: unknown, isLong: boolean): Steps<string> {
  const members: string[] = [];
  let [room, copied] = [KEPT_MAX, 0];
  const isKept = (name: string, member: unknown): boolean => {
    if (name === "choices" || name === "usage") return false;
    const { length } = textOf(member);
    if (isLong && (length > KEPT_MAX || typeof member === "object")) return false;
    const size = name.length + length + 1;
    // all of an event that is not long
    if (copied + size > WHOLE_MAX) return false;
    copied += size;
    return true;
  };
  const kept: [string, unknown][] = [];
  for (const name of Object.keys(value ?? {})) {
    yield STEP_UNITS;
    const member = (value as JsonObject)[name];
    if (isKept(name, member)) kept.push([name, member]);
  }
  for (const [name, member] of Object.entries(withTexts(Object.fromEntries(kept), "") as object)) {
    yield STEP_UNITS;
    const json = `${JSON.stringify(name)}:${JSON.stringify(member)}`;
    if (json.length > room) continue;
    room -= json.length;
    members.push(json);
  }
  return `{${members.join(",")}}`;
}

/** The pieces at the ends of their steps, from this one on. */
function* nested(pieces: readonly Piece[], depth = 0): Steps<unknown> {
  const [first] = pieces;
  const step = first?.place[depth];
  yield step === undefined ? TEXT_UNITS : STEP_UNITS * pieces.length;
  if (step === undefined) return first?.text;
  // names are cut: if two become equal, one may be a text, and the other may contain texts
  const deeper = pieces.filter(({ place }) => place.length > depth);
  const inner: [string | number | undefined, unknown][] = [];
  for (const [name, its] of Map.groupBy(deeper, ({ place }) => place[depth]))
    inner.push([name, yield* nested(its, depth + 1)]);
  if (typeof step === "string") return Object.fromEntries(inner);
  return inner.map(([index, one]) => (typeof one === "object" ? { index, ...one } : one));
}
