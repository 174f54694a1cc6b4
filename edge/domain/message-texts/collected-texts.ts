/**
 * The texts of a whole answer, gathered from its events or its document: to examine an answer before the client gets
 * it, or beside the client (docs/rules/guardrails.md#where-it-looks). Pieces of the same text are joined; its parts are
 * texts that continue one another.
 */
import type { Steps } from "../../../shared/steps.ts";
import { parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { hasRepeatedName } from "../wire/json/repeated-names.ts";
import { pathUnitsOf } from "../wire/json/string-places.ts";
import type { ResponseTransform } from "../wire/sse/response-transform.ts";
import { HASHED_MAX } from "../wire/text/hashed-key.ts";
import { areOfType, eventParts, isSkippedEvent, keyOf, readEvent } from "./answer-events.ts";
import { answerParts, wholeOf } from "./answer-texts.ts";
import { readLines } from "./loose-lines.ts";
import { startedTexts } from "./started-texts.ts";
import { TextOrder } from "./text-order.ts";
import { argumentTexts } from "./text-redaction.ts";

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
}

/** Gathers texts; passes no event on. */
export class CollectedTexts implements ResponseTransform {
  readonly #texts: Collected[] = [];
  /** Texts that continue, by their key. */
  readonly #goingOn = new Map<string, Collected>();
  readonly #room: (characters: number) => boolean;
  /** Which clients' reading of the answer is gathered. */
  #reader = "";
  /** The order of the events, by reading. */
  readonly #orders: Record<string, TextOrder> = {};
  /** Clients that read line by line may find other texts in lines of JSON, and in others. */
  #lines = false;
  #others = false;
  #whole = true;
  #plain = true;

  /** `room` is asked before texts or their keys are kept; once it refuses, nothing more is kept. */
  constructor(room: (characters: number) => boolean = () => true) {
    this.#room = room;
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
    const { fields, data, value, stray } = yield* readEvent(event);
    const document = stray === "" ? undefined : yield* parsedInSteps(stray);
    if (document !== undefined) yield* this.#reading("document", this.#addData(stray, document));
    else if (stray !== "") this.#addAlone(stray, false);
    const isRead = value !== undefined || data === null || data.trim() === "[DONE]";
    const isSkipped = isSkippedEvent(fields, value);
    this.#lines ||= document !== undefined || isSkipped || data?.includes("\n") === true;
    this.#others ||= !isRead || (stray !== "" && document === undefined) || !areOfType(fields, value);
    if (data !== null && value !== undefined)
      yield* this.#reading(isSkipped ? "skipped" : "events", this.#addData(data, value));
    return NOTHING;
  }

  /** Takes a whole answer: a document, or lines; of one with events, which are taken apart, all that is no document is one text. */
  *document(text: string, hasEvents = false): Steps<void> {
    const value = yield* parsedInSteps(text);
    if (value === undefined) return hasEvents ? this.#addAlone(text, false) : yield* this.#addLines(text);
    this.#lines ||= text.includes("\n");
    yield* this.#judge(text, value);
    if (typeof value === "string") this.#addAlone(value, false);
    const { texts, isWhole } = yield* answerParts(value);
    this.#plain &&= isWhole;
    for (const found of texts) {
      yield TEXT_UNITS + pathUnitsOf(found.place);
      this.#addAlone(found.text, found.json, found.alone ? null : wholeOf(found.place));
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

  /** The texts, each joined, with its other parts if it has some, and otherwise once; arguments are decoded. */
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
    const groups = new Map<string, string[]>();
    for (const { text: first, more, json, whole } of this.#texts) {
      yield TEXT_UNITS + (more?.length ?? 0);
      const text = more === null ? first : first + more.join("");
      if (json) {
        const value = yield* parsedInSteps(text);
        yield* this.#judge(text, value);
        for (const inner of yield* argumentTexts(text, value)) {
          yield TEXT_UNITS;
          addOne(inner);
        }
        continue;
      }
      const parts = whole === null ? undefined : groups.get(whole);
      if (parts !== undefined) parts.push(text);
      else if (whole === null) addOne(text);
      else groups.set(whole, [text]);
    }
    for (const parts of groups.values()) {
      yield TEXT_UNITS;
      const [text = ""] = parts;
      if (parts.length === 1) addOne(text);
      else texts.push(parts);
    }
    return texts;
  }

  *#reading(reader: string, steps: Steps<void>): Steps<void> {
    const before = this.#reader;
    this.#reader = reader;
    yield* steps;
    this.#reader = before;
  }

  *#judge(text: string, value: unknown): Steps<void> {
    if (value !== undefined && (yield* hasRepeatedName(text, value))) this.#plain = false;
  }

  *#addParts(event: unknown, startsText: boolean): Steps<void> {
    this.#orders[this.#reader] ??= new TextOrder();
    const { fragments, wholes, isWhole } = yield* eventParts(event, this.#orders[this.#reader], startsText);
    this.#plain &&= isWhole;
    yield TEXT_UNITS;
    for (const fragment of fragments) {
      if (!this.#whole) return;
      const { text, json, place, owner } = fragment;
      yield TEXT_UNITS + pathUnitsOf(place);
      // a content may come in parts, and then as one text
      const part = wholeOf(place) ?? wholeOf([...place, 0, "text"]);
      const whole = `${this.#reader} ${owner.choice} ${owner.type} ${part}`;
      this.#add(`${this.#reader} ${keyOf(fragment)}`, text, json, whole);
    }
    const nth = this.#texts.length;
    for (const { text, json, alone, place } of wholes) {
      yield TEXT_UNITS + pathUnitsOf(place);
      const whole = alone ? null : wholeOf(place);
      this.#addAlone(text, json, whole === null ? null : `${nth} ${whole}`);
    }
  }

  *#addData(data: string, value: unknown): Steps<void> {
    if (value === undefined) return yield* this.#addLines(data);
    if (typeof value === "string") return this.#addAlone(value, false);
    yield* this.#judge(data, value);
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
        addText(given, true);
      },
    });
    if (isMixed && mixes) this.#addAlone(text, false);
  }

  /** Adds a text that no later piece continues. */
  #addAlone(text: string, json: boolean, whole: string | null = null): void {
    if (this.#hasRoom(text.length + (whole?.length ?? 0))) this.#texts.push({ json, whole, text, more: null });
  }

  #add(key: string, text: string, json: boolean, whole: string): void {
    const known = this.#goingOn.get(key);
    if (known === undefined && this.#goingOn.size >= GOING_ON_MAX) this.#plain = false;
    else if (this.#hasRoom(text.length + (known === undefined ? key.length + whole.length : 0))) {
      if (known !== undefined) return void known.more?.push(text);
      const first = { json, whole, text, more: [] };
      this.#goingOn.set(key, first);
      this.#texts.push(first);
    }
  }

  #hasRoom(characters: number): boolean {
    this.#whole &&= this.#room(characters);
    return this.#whole;
  }
}
