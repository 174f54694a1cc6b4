/**
 * Reads lists out of a large JSON object while it arrives: the entries of the lists with the wanted names at its top, one by
 * one. The list of jobs of a large cluster has some hundred megabytes, and the provisioner needs a few entries. Keeps one
 * entry at a time, and looks at each byte once.
 */

import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../../shared/wire/ascii.ts";
import { IN_ESCAPE, stringEnd } from "../../shared/wire/json-skip.ts";

const NAME_MAX_BYTES = 100;
const ENTRY_DEPTH = 2;

/** Thrown for what is not one JSON object, or has an entry that is too large. */
export class JsonListError extends Error {
  override readonly name = "JsonListError";
}

interface JsonListsOptions {
  /** The names of the lists. */
  readonly names: readonly string[];
  readonly entryMaxBytes: number;
  /** Takes the name of a list and one entry of it. */
  readonly onEntry: (name: string, entry: unknown) => void;
}

export class JsonLists {
  readonly #options: JsonListsOptions;
  readonly #found = new Set<string>();
  #depth = 0;
  /** Within a string: what {@link stringEnd} has returned; else 0. */
  #inString = 0;
  #ended = false;
  /** The text at depth 1 that was read last, which is a name when a value follows. */
  #text = "";
  #list: string | null = null;
  #entry: Buffer[] = [];
  #entryBytes = 0;

  constructor(options: JsonListsOptions) {
    this.#options = options;
  }

  /** Takes the next bytes. Throws JsonListError. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    let from = this.#list === null ? -1 : 0;
    let at = this.#inString === 0 ? 0 : this.#string(chunk, 0);
    while (at < chunk.length) {
      const byte = chunk[at] ?? 0;
      at += 1;
      if (byte === QUOTE) {
        if (this.#depth === 1) this.#text = "";
        at = this.#string(chunk, at);
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (this.#depth === 0 && this.#ended) throw new JsonListError("more than one object");
        this.#depth += 1;
        if (this.#depth === ENTRY_DEPTH && byte === OPEN_BRACKET && this.#opens()) from = at;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.#depth -= 1;
        if (this.#depth < 0) throw new JsonListError("not JSON");
        this.#ended = this.#depth === 0;
        if (this.#list !== null && this.#depth < ENTRY_DEPTH) {
          this.#emit(chunk.subarray(from, at - 1));
          this.#list = null;
          from = -1;
        }
      } else if (byte === COMMA && this.#list !== null && this.#depth === ENTRY_DEPTH) {
        this.#emit(chunk.subarray(from, at - 1));
        from = at;
      }
    }
    if (this.#list !== null) this.#keep(chunk.subarray(from));
  }

  /** The names of the lists that were there. Throws JsonListError when the object is not complete. */
  end(): ReadonlySet<string> {
    if (!this.#ended) throw new JsonListError("not a complete object");
    return this.#found;
  }

  /** Reads on within a string. Returns the position after its closing quote, or the end of the chunk. */
  #string(chunk: Uint8Array, from: number): number {
    const end = stringEnd(chunk, this.#inString === IN_ESCAPE ? from + 1 : from);
    this.#inString = Math.min(end, 0);
    const textEnd = end < 0 ? chunk.length : end - 1;
    if (this.#depth === 1 && this.#text.length < NAME_MAX_BYTES)
      this.#text += Buffer.from(chunk.subarray(from, Math.min(textEnd, from + NAME_MAX_BYTES))).toString("latin1");
    return end < 0 ? chunk.length : end;
  }

  /** Whether the list that begins is wanted. */
  #opens(): boolean {
    const name = this.#text;
    if (!this.#options.names.includes(name)) return false;
    if (this.#found.has(name)) throw new JsonListError("a list is there twice");
    this.#found.add(name);
    this.#list = name;
    return true;
  }

  #keep(part: Uint8Array): void {
    this.#entryBytes += part.length;
    if (this.#entryBytes > this.#options.entryMaxBytes) throw new JsonListError("an entry is too large");
    this.#entry.push(Buffer.from(part));
  }

  #emit(part: Uint8Array): void {
    this.#keep(part);
    const text = Buffer.concat(this.#entry).toString("utf8").trim();
    this.#entry = [];
    this.#entryBytes = 0;
    if (text === "" || this.#list === null) return;
    this.#options.onEntry(this.#list, parsed(text));
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new JsonListError("not JSON");
  }
}
