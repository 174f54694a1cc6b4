/**
 * Events that carry one piece of a text and nothing else, like the event in which the text began: what was held back of a
 * text comes in them (docs/rules/guardrails.md#actions). An event is kept once for all its texts, and what is kept of it is
 * short, however large it is.
 */
import { atOnce } from "../../../shared/steps.ts";
import { writeEvent } from "./answer-events.ts";
import { answerParts } from "./answer-texts.ts";

/** The most characters that are kept of an event, as JSON. Honest ones have some hundred beside their texts. */
const KEPT_MAX = 2_048;
/** Of a longer event only its members at the top that are no objects are kept, as JSON. */
const WHOLE_MAX = 16 * 1024;
/** A longer name of an event is none that a client knows. */
const FIELD_MAX = 256;

/** Stands for a text: the texts of a document are found again where they are not empty. */
const PLACEHOLDER = "-";

type Place = readonly (string | number)[];

/** What is kept of one event. */
export class EventCarrier {
  readonly #fields: readonly string[];
  /** The JSON of the event with empty texts; null: it is too long, or the texts are those of choices. */
  readonly #whole: string | null;
  /** The short members of the event, as JSON. */
  readonly #members: string;

  /**
   * @param fields the lines of the event that are no data
   * @param data its data
   * @param value the parsed data, in which nothing is redacted yet that goes on
   * @param ofChoices whether it carries texts of choices: clients join names, ids and roles that come twice, so that
   * nothing else of a choice is repeated
   */
  constructor(fields: readonly string[], data: string, value: unknown, ofChoices: boolean) {
    const isLong = data.length > WHOLE_MAX;
    this.#fields = fields.filter((line) => line.startsWith("event:") && line.length <= FIELD_MAX).slice(0, 1);
    const whole = ofChoices || isLong ? null : JSON.stringify(withTexts(value, PLACEHOLDER));
    this.#whole = whole !== null && whole.length <= KEPT_MAX ? whole : null;
    this.#members = this.#whole === null ? shortMembers(value, isLong) : "{}";
  }

  /** The characters that are kept. */
  get characters(): number {
    return this.#members.length + (this.#whole?.length ?? 0) + FIELD_MAX * this.#fields.length;
  }

  /** The text of an event with this piece of the text at a place of the event. */
  write(place: Place, piece: string): string {
    return writeEvent(this.#fields, JSON.stringify(this.#carry(place, piece)));
  }

  #carry(place: Place, piece: string): unknown {
    if (this.#whole !== null) {
      const copy: unknown = JSON.parse(this.#whole);
      fill(copy, place, piece);
      return copy;
    }
    const members: object = JSON.parse(this.#members);
    if (place[0] !== "choices") return { ...members, ...(nested(place, piece) as object) };
    const [, index, ...steps] = place;
    return { ...members, choices: [{ index, ...(nested(steps, piece) as object), finish_reason: null }] };
  }
}

/** A copy of a document with this in place of each of its texts that go on. */
function withTexts(value: unknown, text: string): unknown {
  const copy: unknown = JSON.parse(JSON.stringify(value));
  for (const { holder, name, ofValue, alone } of atOnce(answerParts(copy)).texts)
    if (!alone) holder[name] = ofValue ? {} : text;
  return copy;
}

/** Puts a piece in place of one placeholder, and removes the others. */
function fill(document: unknown, place: Place, piece: string): void {
  const key = place.join("\n");
  let isFilled = false;
  for (const { holder, name, place: other, alone } of atOnce(answerParts(document)).texts) {
    if (alone) continue;
    const isIts: boolean = !isFilled && other.join("\n") === key;
    holder[name] = isIts ? piece : "";
    isFilled ||= isIts;
  }
}

/** The members of an event that are neither choices nor usage, as JSON, as far as they are short together. */
function shortMembers(value: unknown, isLong: boolean): string {
  const members: string[] = [];
  let room = KEPT_MAX;
  const isKept = ([name, member]: [string, unknown]): boolean =>
    name !== "choices" &&
    name !== "usage" &&
    !(isLong && (typeof member === "string" ? member.length > KEPT_MAX : typeof member === "object"));
  const kept = Object.fromEntries(Object.entries(value ?? {}).filter(isKept));
  for (const [name, member] of Object.entries(withTexts(kept, "") as object)) {
    const json = `${JSON.stringify(name)}:${JSON.stringify(member)}`;
    if (json.length > room) continue;
    room -= json.length;
    members.push(json);
  }
  return `{${members.join(",")}}`;
}

/** The piece at the end of these steps. */
function nested(steps: Place, piece: string): unknown {
  let inner: unknown = piece;
  for (const step of steps.toReversed()) {
    if (typeof step === "string") inner = { [step]: inner };
    else inner = [typeof inner === "object" ? { index: step, ...inner } : inner];
  }
  return inner;
}
