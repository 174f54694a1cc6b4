/**
 * The texts of a whole answer, gathered from its events or its document: to examine an answer before the client gets
 * it, or beside the client (docs/rules/guardrails.md#where-it-looks). Pieces of the same text are joined; its parts are
 * texts that continue one another.
 */
import type { Steps } from "../../../shared/steps.ts";
import { elementsOf, objectOf, textOf } from "../dialect/values.ts";
import { parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { hasRepeatedName } from "../wire/json/repeated-names.ts";
import { pathUnitsOf } from "../wire/json/string-places.ts";
import type { ResponseTransform } from "../wire/sse/response-transform.ts";
import { HASHED_MAX } from "../wire/text/hashed-key.ts";
import {
  areOfType,
  eventNameOf,
  eventParts,
  type Fragment,
  isSkippedEvent,
  keyOf,
  readEvent,
} from "./answer-events.ts";
import { type AnswerText, answerParts, grouped, kindOf, wholeOf } from "./answer-texts.ts";
import { readLines } from "./loose-lines.ts";
import { startedTexts } from "./started-texts.ts";
import { type Ids, TextOrder } from "./text-order.ts";
import { isReadOtherwise, jsonTexts } from "./text-redaction.ts";

const NOTHING = new Uint8Array(0);
/** Work for a text, and for a line, in units. */
const TEXT_UNITS = 16;

/** Texts of one answer that continue; more of them are an attack. */
const GOING_ON_MAX = 64 * 1024;
/** Of so many texts it is known whether they came before: a stream shows a text once in pieces and once whole. */
const KNOWN_MAX = 16 * 1024;
/** Of those too long to be hashed fewer: each is compared with all of them. */
const LONG_KNOWN_MAX = 16;

interface Collected {
  readonly json: boolean;
  /** A key that the parts of a text share; null: it has no other part. */
  readonly whole: string | null;
  readonly text: string;
  /** What later events added to it; null: nothing does. */
  readonly more: string[] | null;
  /** The part as an event shows it whole, which some clients read in place of its pieces. */
  shown?: string;
  /** Clients join parts of one kind, and skip others between them. */
  kind: string;
}

type How = Pick<Collected, "json" | "kind">;
const PLAIN: How = { json: false, kind: "" };
type Part = Required<Pick<Collected, "text" | "shown" | "kind">>;

/** Memory for the kind of a part, in characters. */
const KIND_CHARACTERS = 256;
/** The end of a stream: clients read nothing behind it, as behind an error. */
const LAST = /^(?:message_stop|error|response\.(?:completed|incomplete|failed))$/;
/** The event whose pieces a whole part of a message of the Responses API repeats. */
const PIECES = { choice: null, type: "response.output_text.delta", item: null };
const SHOWN = /^response\.(?:output_text|content_part|output_item)\.(?:added|done)$/;

/** Gathers texts; passes no event on. */
export class CollectedTexts implements ResponseTransform {
  readonly #texts: Collected[] = [];
  /** Texts that continue, by their key. */
  readonly #goingOn = new Map<string, Collected>();
  /** The last part that came, and its numbers, by the key of the whole. */
  readonly #last = new Map<string, { readonly ids: Ids; readonly key: string | null }>();
  readonly #room: (characters: number) => boolean;
  readonly #answers: number | undefined;
  #isFirst = true;
  /** Which clients' reading of the answer is gathered. */
  #reader = "";
  /** The order of the events, by reading. */
  readonly #orders: Record<string, TextOrder> = {};
  /** The parts of messages of the Responses API, in order, by reading and item. */
  readonly #parts = new Map<string, Collected[]>();
  /** The kinds of items, parts and blocks, by reading and numbers. */
  readonly #kinds = new Map<string, string>();
  /** The readings whose stream has shown its end. */
  readonly #ended = new Set<string>();
  /** Those of them whose texts are kept as they were at the end. */
  readonly #kept = new Set<string>();
  /** Clients that read line by line may find other texts in lines of JSON, and in others. */
  #lines = false;
  #others = false;
  #whole = true;
  #plain = true;

  /**
   * @param room is asked before texts or their keys are kept; once it refuses, nothing more is kept
   * @param answers how many the client has asked for
   */
  constructor(room: (characters: number) => boolean = () => true, answers?: number) {
    this.#room = room;
    this.#answers = answers;
  }

  /** Whether everything that came was kept. */
  get whole(): boolean {
    return this.#whole;
  }

  /** False: readers of the answer could find other texts in it: an object has a name twice, or there is more than is read. */
  get plain(): boolean {
    return this.#plain;
  }

  concerns(): boolean {
    return true;
  }

  *event(event: Uint8Array): Steps<Uint8Array> {
    const { fields, data, value, stray } = yield* readEvent(event, this.#isFirst);
    this.#isFirst = false;
    const document = stray === "" ? undefined : yield* parsedInSteps(stray);
    if (document !== undefined) yield* this.#reading("document", this.#addData(stray, document));
    else if (stray !== "") this.#addAlone(stray);
    const isRead = value !== undefined || data === null || data.trim() === "[DONE]";
    const isSkipped = isSkippedEvent(fields, value);
    this.#plain &&= isSkipped !== null;
    this.#lines ||= document !== undefined || isSkipped !== false || data?.includes("\n") === true;
    this.#others ||= !isRead || (stray !== "" && document === undefined) || !areOfType(fields, value);
    const name = eventNameOf(fields) ?? "";
    // `[DONE]`, or what SDKs stop at with an error
    if (name === "error" || (value === undefined && (data !== null || name !== "")))
      this.#ended.add("events").add("skipped");
    if (data !== null && value !== undefined)
      yield* this.#reading(isSkipped ? "skipped" : "events", this.#addData(data, value));
    return NOTHING;
  }

  /** Takes a whole answer: a document, or lines; of one with events, which are taken apart, all that is no document is one text. */
  *document(text: string, hasEvents = false): Steps<void> {
    const value = yield* parsedInSteps(text);
    if (value === undefined) return hasEvents ? this.#addAlone(text) : yield* this.#addLines(text);
    this.#lines ||= text.includes("\n");
    yield* this.#checkNames(text, value);
    if (typeof value === "string") this.#addAlone(value);
    const { texts, withLogprobs, isWhole } = yield* answerParts(value);
    this.#plain &&= isWhole;
    yield* this.#addWords(withLogprobs);
    for (const found of texts) {
      yield TEXT_UNITS + pathUnitsOf(found.place);
      this.#addAlone(found.text, found, found.alone ? null : wholeOf(found.place));
    }
  }

  /**
   * Reads the whole answer again as clients do that read line by line, if they may find other texts than those that read events or
   * the document: the pieces of one reading never stand between those of the other.
   */
  *again(text: () => string): Steps<void> {
    if (!this.#lines && !this.#others) return;
    yield* this.#reading("lines", this.#addLines(text(), !this.#others, false));
  }

  /** The texts, each joined, with its other parts if it has some, and otherwise once; of JSON also what its readers get. */
  *texts(): Steps<readonly (readonly string[])[]> {
    const texts: (readonly string[])[] = [];
    const known = new Set<string>();
    let longOnes = 0;
    const addOne = (text: string): void => {
      if (known.has(text)) return;
      const isLong = text.length > HASHED_MAX;
      if (isLong) longOnes += 1;
      if (known.size < KNOWN_MAX && (!isLong || longOnes <= LONG_KNOWN_MAX)) known.add(text);
      texts.push([text]);
    };
    const [checkNames, hasRoom] = [this.#checkNames.bind(this), this.#hasRoom.bind(this)];
    const addJson = function* (text: string, isMarked: boolean): Steps<void> {
      yield TEXT_UNITS;
      if (!isReadOtherwise(text, isMarked) || !hasRoom(text.length)) return;
      const value = yield* parsedInSteps(text);
      yield* checkNames(text, value);
      for (const inner of yield* jsonTexts(text, value)) {
        yield TEXT_UNITS;
        addOne(inner);
      }
    };
    for (const collected of yield* grouped(this.#texts, ({ json, whole }) => (json ? null : whole))) {
      const all: Part[] = [];
      for (const { text: first, more, shown, kind } of collected) {
        yield TEXT_UNITS + (more?.length ?? 0);
        const text = more === null ? first : first + more.join("");
        all.push({ text, shown: shown ?? text, kind });
      }
      const kinds = yield* grouped(all, ({ kind }) => kind);
      for (const parts of kinds.length > 1 ? [all, kinds.flat()] : [all]) {
        const [reading, whole]: [string[], string[]] = [[], []];
        for (const { text, shown } of parts) {
          yield TEXT_UNITS;
          reading.push(text);
          whole.push(shown);
        }
        const readings = [reading];
        if (parts.some(({ text, shown }) => text !== shown)) readings.push(whole);
        for (const read of readings) {
          const [text = ""] = read;
          if (read.length === 1) addOne(text);
          else texts.push(read);
          const ones = read.length === 1 ? read : [...read, read.join("")];
          for (const one of ones) yield* addJson(one, collected[0]?.json === true);
        }
      }
    }
    return texts;
  }

  *#reading(reader: string, steps: Steps<void>): Steps<void> {
    const before = this.#reader;
    this.#reader = reader;
    yield* steps;
    this.#reader = before;
  }

  *#checkNames(text: string, value: unknown): Steps<void> {
    if (value !== undefined && (yield* hasRepeatedName(text, value))) this.#plain = false;
  }

  *#addParts(event: unknown, startsText: boolean): Steps<void> {
    this.#orders[this.#reader] ??= new TextOrder(this.#answers);
    const parts = yield* eventParts(event, this.#orders[this.#reader], startsText);
    const { fragments, wholes, ids, type, isWhole } = parts;
    yield* this.#addWords(parts.withLogprobs);
    const hasText = fragments.length > 0 || wholes.some(({ alone }) => alone !== true);
    if (objectOf(event)["error"]) this.#ended.add(this.#reader);
    // text behind the end, or beside an error, is not what clients read as the same text
    const isOutside = hasText && this.#ended.has(this.#reader);
    this.#plain &&= isWhole && !isOutside;
    if (isOutside && !this.#kept.has(this.#reader)) yield* this.#keepEnded();
    if (LAST.test(type ?? "")) this.#ended.add(this.#reader);
    const isPart = ids.some((id) => id !== null);
    const { item, part: ofItem, content_block } = objectOf(event);
    const started = item ?? ofItem ?? content_block;
    if (isPart && started !== undefined && this.#hasRoom(KIND_CHARACTERS))
      this.#kinds.set(`${this.#reader} ${ids.join()}`, kindOf("", started));
    yield TEXT_UNITS;
    for (const fragment of fragments) {
      if (!this.#whole) return;
      yield TEXT_UNITS + pathUnitsOf(fragment.place);
      this.#addPiece(fragment);
    }
    // clients join items and parts that come whole, too
    let itemParts = 0;
    const from = isPart ? `${this.#reader} ${type}` : this.#texts.length;
    for (const found of wholes) {
      const { json, alone, place } = found;
      yield TEXT_UNITS + pathUnitsOf(place);
      const whole = alone ? null : (wholeOf(place) ?? (isPart ? wholeOf([...place, 0, "text"]) : null));
      const part = SHOWN.test(type ?? "") ? partOf(ids, place) : null;
      if (part !== null) this.#show(part, found, place[0] === "item" ? itemParts++ : null);
      else if (whole === null) this.#addAlone(found.text, found);
      else {
        if (!json) this.#follows(`${from} ${whole}`, ids);
        this.#addAlone(found.text, found, `${from} ${whole}`);
      }
    }
  }

  /** Keeps the texts also as clients have them that read nothing behind the end. */
  *#keepEnded(): Steps<void> {
    this.#kept.add(this.#reader);
    for (const [key, { text, more, whole, ...how }] of this.#goingOn) {
      yield TEXT_UNITS + (more?.length ?? 0);
      if (key.startsWith(`${this.#reader} `)) this.#addAlone(text + (more ?? []).join(""), how, `ended ${whole}`);
    }
  }

  /** Adds the words of transcriptions, which clients show beside the text that they should repeat. */
  *#addWords(holders: readonly Record<string, unknown>[]): Steps<void> {
    for (const { words } of holders) {
      const spoken: string[] = [];
      for (const word of elementsOf(words)) {
        yield TEXT_UNITS;
        spoken.push(textOf(objectOf(word)["word"]).trim());
      }
      if (spoken.length > 0) this.#addAlone(spoken.join(" "));
    }
  }

  #addPiece(fragment: Fragment): Collected | undefined {
    const { text, json, place, owner } = fragment;
    // a content may come in parts, and then as one text
    const part = (wholeOf(place) ?? wholeOf([...place, 0, "text"]))?.replace("refusal", "content");
    const whole = `${this.#reader} ${owner.choice} ${owner.type} ${part}`;
    const key = `${this.#reader} ${keyOf(fragment)}`;
    const isNew = !this.#goingOn.has(key);
    // without a type or a choice, numbers are those of answers
    if (!json && (owner.type ?? owner.choice) !== null) this.#follows(whole, owner.ids, key, !isNew);
    const [item] = owner.ids;
    const kind = `${this.#kinds.get(`${this.#reader} ${item},,,`)}${this.#kinds.get(`${this.#reader} ${owner.ids.join()}`)}`;
    const added = this.#add(key, text, { json, kind: kind.replaceAll("undefined", "") }, whole);
    if (owner.type !== PIECES.type || added === undefined || !isNew) return added;
    const ofItem = `${this.#reader} ${item}`;
    const parts = this.#parts.get(ofItem);
    if (parts === undefined) this.#parts.set(ofItem, [added]);
    else parts.push(added);
    return added;
  }

  /**
   * Notes a part that an event shows whole; of several that differ clients read either. `nth`: of the texts of its item, whose
   * parts may have other numbers in their events; null: its own event shows it.
   */
  #show(ids: Ids, { text, kind }: AnswerText, nth: number | null): void {
    const nothing = { holder: {}, name: "delta", text: "", json: false, kind, place: ["delta"] };
    const begun = nth === null ? undefined : this.#parts.get(`${this.#reader} ${ids[0]}`)?.[nth];
    const known = begun ?? this.#addPiece({ ...nothing, owner: { ...PIECES, ids } });
    if (known === undefined || !this.#hasRoom(text.length)) return;
    if (known.shown !== undefined && known.shown !== text) this.#plain = false;
    known.shown = text;
    known.kind ||= kind;
  }

  /**
   * Some clients join the parts of a text by their numbers, and others as they come: parts that come in another order, or grow in
   * turns, are different texts to them.
   */
  #follows(whole: string, ids: Ids, key: string | null = null, isKnown = false): void {
    const last = this.#last.get(whole);
    if (last !== undefined && (isBefore(ids, last.ids) || (isKnown && last.key !== key))) this.#plain = false;
    this.#last.set(whole, { ids, key });
  }

  *#addData(data: string, value: unknown): Steps<void> {
    if (value === undefined) return yield* this.#addLines(data);
    if (typeof value === "string") return this.#addAlone(value);
    yield* this.#checkNames(data, value);
    const started = startedTexts(value);
    for (const part of started ?? [value]) yield* this.#addParts(part, started !== null);
  }

  /**
   * Adds lines of JSON like events. Unless `isRead`, adds the others as texts, also with their escapes undone; a mixture of both also
   * as it stands, if `mixes`.
   */
  *#addLines(text: string, isRead = false, mixes = true): Steps<void> {
    const [addJson, addText] = [this.#addData.bind(this), this.#addAlone.bind(this)];
    const fail = (): void => {
      this.#plain = false;
    };
    const isMixed = yield* readLines(text, {
      json: ({ json, value }) => addJson(json, value),
      *text(given, isUnread) {
        yield TEXT_UNITS;
        if (isRead) return;
        if (isUnread) fail();
        addText(given, { json: true, kind: "" });
      },
    });
    if (isMixed && mixes) this.#addAlone(text);
  }

  /** Adds a text that no later piece continues. */
  #addAlone(text: string, { json, kind }: How = PLAIN, whole: string | null = null): void {
    if (this.#hasRoom(text.length + (whole?.length ?? 0))) this.#texts.push({ json, whole, text, kind, more: null });
  }

  #add(key: string, text: string, { json, kind }: How, whole: string): Collected | undefined {
    const known = this.#goingOn.get(key);
    if (known === undefined && this.#goingOn.size >= GOING_ON_MAX) this.#plain = false;
    else if (this.#hasRoom(text.length + (known === undefined ? key.length + whole.length : 0))) {
      if (known !== undefined) {
        known.more?.push(text);
        return known;
      }
      const first = { json, whole, text, kind, more: [] };
      this.#goingOn.set(key, first);
      this.#texts.push(first);
      return first;
    }
    return undefined;
  }

  #hasRoom(characters: number): boolean {
    this.#whole &&= this.#room(characters);
    return this.#whole;
  }
}

/** The numbers of the part of a message that a text of this place is; null: it is none. */
function partOf(ids: Ids, place: AnswerText["place"]): Ids | null {
  const [first, second, at, last] = place;
  const isInItem =
    ids[0] !== null && first === "item" && second === "content" && typeof at === "number" && last === "text";
  if (isInItem) return [ids[0] ?? null, at, null, null];
  const isPart =
    (place.length === 1 && first === "text") || (place.length === 2 && first === "part" && second === "text");
  return isPart ? ids : null;
}

function isBefore(ids: Ids, others: Ids): boolean {
  const at = ids.findIndex((id, nth) => id !== others[nth]);
  return at >= 0 && (ids[at] ?? -1) < (others[at] ?? -1);
}
