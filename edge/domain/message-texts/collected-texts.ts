/**
 * The texts of a whole answer, gathered from its events or its document: to examine an answer before the client gets
 * it, or beside the client (docs/rules/guardrails.md#where-it-looks). Pieces of the same text are joined; its parts are
 * texts that continue one another.
 */
import type { Steps } from "../../../shared/steps.ts";
import { isUnreadJson, parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { hasRepeatedName } from "../wire/json/repeated-names.ts";
import type { ResponseTransform } from "../wire/sse/response-transform.ts";
import { eventParts, readEvent } from "./answer-events.ts";
import { answerParts, grouped, wholeOf } from "./answer-texts.ts";
import { startedTexts } from "./started-texts.ts";
import { argumentTexts } from "./text-redaction.ts";

const NOTHING = new Uint8Array(0);
/** Work for a text, and for a line, in units. */
const TEXT_UNITS = 16;

interface Collected {
  readonly json: boolean;
  /** What the parts of a text have in common. */
  readonly whole: string;
  readonly pieces: string[];
}

/** Gathers texts; passes no event on. */
export class CollectedTexts implements ResponseTransform {
  readonly #texts = new Map<string, Collected>();
  readonly #room: (characters: number) => boolean;
  #whole = true;
  #plain = true;

  /** `room` is asked before anything is kept; once it says no, nothing more is kept. */
  constructor(room: (characters: number) => boolean = () => true) {
    this.#room = room;
  }

  /** Whether everything that came was kept. */
  get whole(): boolean {
    return this.#whole;
  }

  /** False: readers of the answer could find other texts in it: an object has a name twice, or it is more than can be read. */
  get plain(): boolean {
    return this.#plain;
  }

  concerns(): boolean {
    return true;
  }

  *event(event: Uint8Array): Steps<Uint8Array> {
    const { data, value, stray } = yield* readEvent(event);
    if (stray !== "") yield* this.document(stray);
    if (data === null || data.trim() === "[DONE]") return NOTHING;
    if (value === undefined && isUnreadJson(data)) this.#plain = false;
    const text = value === undefined ? data : value;
    if (typeof text === "string") this.#addAlone(text, false);
    else {
      yield* this.#judge(data, text);
      for (const part of (yield* startedTexts(text)) ?? [text]) yield* this.#addParts(part);
    }
    return NOTHING;
  }

  /** Takes a whole answer that is no event stream: a document, lines of JSON, or one text. */
  *document(text: string): Steps<void> {
    const value = yield* parsedInSteps(text);
    const lines = value === undefined ? yield* jsonLines(text) : null;
    if (lines !== null) {
      for (const line of lines) {
        const event = yield* parsedInSteps(line);
        yield* this.#judge(line, event);
        yield* this.#addParts(event);
      }
      return;
    }
    if (value !== undefined) yield* this.#judge(text, value);
    else if (isUnreadJson(text)) this.#plain = false;
    const whole = value === undefined ? text : value;
    if (typeof whole === "string") this.#addAlone(whole, false);
    for (const found of (yield* answerParts(value)).texts) {
      yield TEXT_UNITS;
      this.#addAlone(found.text, found.json, wholeOf(found.place));
    }
  }

  /** The texts, each joined, with its other parts if it has some, and otherwise once; arguments are decoded. */
  *texts(): Steps<readonly (readonly string[])[]> {
    const texts = new Set<string>();
    const plain: { readonly text: string; readonly whole: string }[] = [];
    for (const { pieces, json, whole } of this.#texts.values()) {
      yield TEXT_UNITS + pieces.length;
      const text = pieces.join("");
      const value = json ? yield* parsedInSteps(text) : undefined;
      yield* this.#judge(text, value);
      if (!json) plain.push({ text, whole });
      else
        for (const inner of yield* argumentTexts(text, value)) {
          yield TEXT_UNITS;
          texts.add(inner);
        }
    }
    const several: (readonly string[])[] = [];
    for (const parts of yield* grouped(plain, ({ whole }) => whole)) {
      const [first] = parts;
      if (parts.length === 1 && first !== undefined) texts.add(first.text);
      else several.push(parts.map(({ text }) => text));
    }
    return [...[...texts].map((text) => [text]), ...several];
  }

  *#judge(text: string, value: unknown): Steps<void> {
    if (value !== undefined && (yield* hasRepeatedName(text, value))) this.#plain = false;
  }

  *#addParts(event: unknown): Steps<void> {
    const { fragments, wholes } = yield* eventParts(event);
    yield TEXT_UNITS;
    for (const { key, text, json, place, owner } of fragments)
      this.#add(key, text, json, `${owner.choice} ${owner.type} ${wholeOf(place)}`);
    const nth = this.#texts.size;
    for (const { text, json, place } of wholes) {
      yield TEXT_UNITS;
      this.#addAlone(text, json, `${nth} ${wholeOf(place)}`);
    }
  }

  /** Adds a text that no later piece continues. */
  #addAlone(text: string, json: boolean, whole?: string): void {
    const key = `alone ${this.#texts.size}`;
    this.#add(key, text, json, whole ?? key);
  }

  #add(key: string, text: string, json: boolean, whole: string): void {
    if (!this.#whole) return;
    if (!this.#room(text.length)) {
      this.#whole = false;
      return;
    }
    const known = this.#texts.get(key);
    if (known === undefined) this.#texts.set(key, { json, whole, pieces: [text] });
    else known.pieces.push(text);
  }
}

/**
 * The lines of a text of which each is a JSON object, as some servers stream (`application/x-ndjson`); null: it is none.
 * Blank lines are left out.
 */
export function* jsonLines(text: string): Steps<readonly string[] | null> {
  if (!/^\s*\{/.test(text)) return null;
  const lines: string[] = [];
  for (const [ended] of text.matchAll(/[^\n]+/g)) {
    yield TEXT_UNITS;
    const line = ended.replace(/\r$/, "");
    if (line.trim() === "") continue;
    if (typeof (yield* parsedInSteps(line)) !== "object") return null;
    lines.push(line);
  }
  return lines;
}
