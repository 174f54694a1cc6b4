/**
 * Reads lists out of a large JSON object while it arrives: the entries of the lists with the wanted names at its top, one by
 * one. The list of jobs of a large cluster has some hundred megabytes, of which the provisioner needs a few entries. Keeps one
 * entry at a time, and looks at each byte once.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OBJECT = 0x7b;
const LIST = 0x5b;
const OBJECT_END = 0x7d;
const LIST_END = 0x5d;
const COMMA = 0x2c;
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
  #inString = false;
  #escaped = false;
  #ended = false;
  /** The text at depth 1 that was read last, which is a name when a value follows. */
  #text: number[] = [];
  #list: string | null = null;
  #entry: Buffer[] = [];
  #entryBytes = 0;

  constructor(options: JsonListsOptions) {
    this.#options = options;
  }

  /** Takes the next bytes. Throws JsonListError. */
  push(chunk: Uint8Array): void {
    let from = this.#list === null ? -1 : 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.#inString) {
        this.#character(byte);
      } else if (byte === QUOTE) {
        this.#inString = true;
        if (this.#depth === 1) this.#text = [];
      } else if (byte === OBJECT || byte === LIST) {
        if (this.#depth === 0 && this.#ended) throw new JsonListError("more than one object");
        this.#depth += 1;
        if (this.#depth === ENTRY_DEPTH && byte === LIST && this.#opens()) from = at + 1;
      } else if (byte === OBJECT_END || byte === LIST_END) {
        this.#depth -= 1;
        if (this.#depth < 0) throw new JsonListError("not JSON");
        this.#ended = this.#depth === 0;
        if (this.#list !== null && this.#depth < ENTRY_DEPTH) {
          this.#emit(chunk.subarray(from, at));
          this.#list = null;
          from = -1;
        }
      } else if (byte === COMMA && this.#list !== null && this.#depth === ENTRY_DEPTH) {
        this.#emit(chunk.subarray(from, at));
        from = at + 1;
      }
    }
    if (this.#list !== null) this.#keep(chunk.subarray(from));
  }

  /** The names of the lists that were there. Throws JsonListError when the object is not complete. */
  end(): ReadonlySet<string> {
    if (!this.#ended) throw new JsonListError("not a complete object");
    return this.#found;
  }

  #character(byte: number): void {
    if (this.#depth === 1 && this.#text.length < NAME_MAX_BYTES && byte !== QUOTE) this.#text.push(byte);
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  /** Whether the list that begins is wanted. */
  #opens(): boolean {
    const name = Buffer.from(this.#text).toString("latin1");
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
