/**
 * JSON as a tree whose scalars are the text that the author wrote (docs/rules/compression.md#json). Numbers and strings are
 * never converted, so that a tree can be written again without changing a value: `-0`, `1e400`, `12345678901234567890` and lone
 * surrogates stay unchanged. Members are kept in a Map: `__proto__` is a name like any other.
 */

import type { Steps } from "../../../shared/steps.ts";
import { HASHED_MAX } from "../wire/text/hashed-key.ts";

/** A value. A scalar is its source text, a string with its quotes. */
export type JsonNode =
  | { readonly kind: "scalar"; readonly raw: string }
  | { readonly kind: "array"; readonly items: readonly JsonNode[] }
  | { readonly kind: "object"; readonly members: ReadonlyMap<string, JsonNode> };

/** The value that a `@<k>` in a compacted text stands for; undefined if there is none. */
type BlockReference = (block: number) => JsonNode | undefined;

/** A deeper value is not read: writing it again takes a stack frame per level. */
export const JSON_DEPTH_MAX = 100;
/** A value of more nodes is not read: an isolate has 128 MB for everything. */
const NODES_MAX = 200_000;
/** Work for a node, in units. */
export const NODE_UNITS = 16;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const REFERENCE = /@([1-9]\d{0,6})/y;
const KEYWORDS = ["true", "false", "null"] as const;
const SPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Where reading stopped, and the value in front of it; null: no value that can be compacted starts there. */
interface ReadNode {
  readonly node: JsonNode | null;
  /** Offset in UTF-16 units. */
  readonly end: number;
}

/**
 * The JSON value that is the whole text, except for whitespace around it. Null: it is not JSON, an object has a name twice, or
 * it exceeds the limit of depth or nodes.
 */
export function* readJsonTree(text: string, reference?: BlockReference): Steps<JsonNode | null> {
  const { node, end } = yield* readJsonPrefix(text, 0, reference);
  return node !== null && skipSpace(text, end) === text.length ? node : null;
}

/** The JSON value that starts at `start`, after whitespace, by the rules of {@link readJsonTree}. Never throws. */
export function* readJsonPrefix(text: string, start: number, reference?: BlockReference): Steps<ReadNode> {
  const reader = new TreeReader(text, start, reference);
  try {
    return { node: yield* reader.value(0), end: reader.at };
  } catch (error) {
    if (!(error instanceof NotReadable)) throw error;
    return { node: null, end: reader.at };
  }
}

/** Whether two trees are the same value: members in any order, scalars by their source text. */
export function* sameTree(one: JsonNode, other: JsonNode): Steps<boolean> {
  yield NODE_UNITS;
  if (one.kind === "scalar") return other.kind === "scalar" && one.raw === other.raw;
  if (one.kind === "array") {
    if (other.kind !== "array" || one.items.length !== other.items.length) return false;
    for (const [at, item] of one.items.entries()) if (!(yield* sameTree(item, other.items[at] ?? item))) return false;
    return true;
  }
  if (other.kind !== "object" || one.members.size !== other.members.size) return false;
  for (const [name, member] of one.members) {
    const counterpart = other.members.get(name);
    if (counterpart === undefined || !(yield* sameTree(member, counterpart))) return false;
  }
  return true;
}

class NotReadable extends Error {
  override readonly name = "NotReadable";
}
/** One for all: a stack for each would take longer than to read. */
const NOT_READABLE = new NotReadable();

class TreeReader {
  readonly #text: string;
  readonly #reference: BlockReference | undefined;
  #nodes = 0;
  at: number;

  constructor(text: string, start: number, reference: BlockReference | undefined) {
    this.#text = text;
    this.#reference = reference;
    this.at = start;
  }

  *value(depth: number): Steps<JsonNode> {
    this.#nodes += 1;
    yield NODE_UNITS;
    if (depth > JSON_DEPTH_MAX || this.#nodes > NODES_MAX) throw NOT_READABLE;
    this.#skip();
    switch (this.#text[this.at]) {
      case "{":
        return yield* this.#object(depth);
      case "[":
        return yield* this.#array(depth);
      case '"':
        return { kind: "scalar", raw: this.#string() };
      case "@":
        return this.#referenced();
      default:
        return { kind: "scalar", raw: this.#literal() };
    }
  }

  *#object(depth: number): Steps<JsonNode> {
    const members = new Map<string, JsonNode>();
    this.at += 1;
    if (this.#takes("}")) return { kind: "object", members };
    do {
      this.#skip();
      const raw = this.#text[this.at] === '"' ? this.#string() : refuse();
      const name = JSON.parse(raw) as string;
      if (name.length > HASHED_MAX || members.has(name) || !this.#takes(":")) throw NOT_READABLE;
      members.set(name, yield* this.value(depth + 1));
    } while (this.#takes(","));
    return this.#takes("}") ? { kind: "object", members } : refuse();
  }

  *#array(depth: number): Steps<JsonNode> {
    const items: JsonNode[] = [];
    this.at += 1;
    if (this.#takes("]")) return { kind: "array", items };
    do items.push(yield* this.value(depth + 1));
    while (this.#takes(","));
    return this.#takes("]") ? { kind: "array", items } : refuse();
  }

  #string(): string {
    const start = this.at;
    let end = start;
    do {
      end = this.#text.indexOf('"', end + 1);
      if (end === -1) throw NOT_READABLE;
    } while (isEscaped(this.#text, end));
    const raw = this.#text.slice(start, end + 1);
    if (!isString(raw)) throw NOT_READABLE;
    this.at = end + 1;
    return raw;
  }

  #literal(): string {
    const keyword = KEYWORDS.find((word) => this.#text.startsWith(word, this.at));
    const raw = keyword ?? this.#matched(NUMBER)?.[0];
    if (raw === undefined) throw NOT_READABLE;
    this.at += raw.length;
    return raw;
  }

  #referenced(): JsonNode {
    const match = this.#matched(REFERENCE);
    const node = match === null ? undefined : this.#reference?.(Number(match[1]));
    if (match === null || node === undefined) throw NOT_READABLE;
    this.at += match[0].length;
    return node;
  }

  #matched(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    return pattern.exec(this.#text);
  }

  /** Whether the next character that is not whitespace is this one, which is read then. */
  #takes(character: string): boolean {
    this.#skip();
    if (this.#text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  #skip(): void {
    this.at = skipSpace(this.#text, this.at);
  }
}

function refuse(): never {
  throw NOT_READABLE;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (SPACE.has(text.charCodeAt(at))) at += 1;
  return at;
}

/** Whether an odd number of backslashes precedes the quote. */
function isEscaped(text: string, quote: number): boolean {
  let at = quote;
  while (text[at - 1] === "\\") at -= 1;
  return (quote - at) % 2 === 1;
}

function isString(raw: string): boolean {
  try {
    return typeof JSON.parse(raw) === "string";
  } catch {
    return false;
  }
}
