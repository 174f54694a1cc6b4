/**
 * The texts of a whole answer, gathered from its events or its document: to examine an answer before the client gets
 * it, or beside the client (docs/rules/guardrails.md#where-it-looks). Pieces of the same text are joined.
 */
import { hasRepeatedName } from "../wire/json/repeated-names.ts";
import type { ResponseTransform } from "../wire/sse/response-transform.ts";
import { eventParts, readEvent } from "./answer-events.ts";
import { answerParts } from "./answer-texts.ts";
import { argumentTexts } from "./text-redaction.ts";

const NOTHING = new Uint8Array(0);

interface Collected {
  readonly json: boolean;
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

  /** False: readers of the answer could find other texts in it, because an object has a name twice. */
  get plain(): boolean {
    return this.#plain;
  }

  concerns(): boolean {
    return true;
  }

  event(event: Uint8Array): Uint8Array {
    const { data, value, stray } = readEvent(event);
    if (stray !== "") this.document(stray);
    if (data === null || data.trim() === "[DONE]") return NOTHING;
    const text = value === undefined ? data : value;
    if (typeof text === "string") this.#add(this.#nextKey(), text, false);
    else {
      this.#judge(data, text);
      this.#addParts(text);
    }
    return NOTHING;
  }

  /** Takes a whole answer that is no event stream: a document, lines of JSON, or one text. */
  document(text: string): void {
    const value = parsed(text);
    const lines = value === undefined ? jsonLines(text) : null;
    if (lines !== null) {
      for (const line of lines) {
        const event = parsed(line);
        this.#judge(line, event);
        this.#addParts(event);
      }
      return;
    }
    if (value !== undefined) this.#judge(text, value);
    const whole = value === undefined ? text : value;
    if (typeof whole === "string") this.#add(this.#nextKey(), whole, false);
    for (const found of answerParts(value).texts) this.#add(this.#nextKey(), found.text, found.json);
  }

  /** The texts, each joined and once; arguments are decoded. */
  texts(): readonly string[] {
    const texts = [...this.#texts.values()].flatMap(({ pieces, json }) => {
      const text = pieces.join("");
      if (json) this.#judge(text, parsed(text));
      return json ? argumentTexts(text) : [text];
    });
    return [...new Set(texts)];
  }

  #judge(text: string, value: unknown): void {
    if (value !== undefined && hasRepeatedName(text, value)) this.#plain = false;
  }

  #addParts(event: unknown): void {
    const { fragments, wholes } = eventParts(event);
    for (const { key, text, json } of fragments) this.#add(key, text, json);
    for (const { text, json } of wholes) this.#add(this.#nextKey(), text, json);
  }

  #nextKey(): string {
    return `whole ${this.#texts.size}`;
  }

  #add(key: string, text: string, json: boolean): void {
    if (!this.#whole) return;
    if (!this.#room(text.length)) {
      this.#whole = false;
      return;
    }
    const known = this.#texts.get(key);
    if (known === undefined) this.#texts.set(key, { json, pieces: [text] });
    else known.pieces.push(text);
  }
}

/** The text of a whole answer; undefined: it is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The lines of a text of which each is a JSON object, as some servers stream (`application/x-ndjson`); null: it is none.
 * Blank lines are left out.
 */
export function jsonLines(text: string): readonly string[] | null {
  if (!/^\s*\{/.test(text)) return null;
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  return lines.every((line) => typeof parsed(line) === "object") ? lines : null;
}
