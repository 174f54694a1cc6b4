/**
 * Whether an upstream refuses members of a request by their names (docs/rules/streams.md#usage-event). Many servers repeat what
 * a client wrote in their errors, so a name that the request contains as text proves nothing.
 */
import type { Steps } from "../../../shared/steps.ts";
import { BytePieces, type Span } from "../wire/bytes/byte-pieces.ts";
import { isJsonObject } from "../wire/json/document.ts";
import { stringAt, stringPlaces, UNKNOWN_WAY } from "../wire/json/string-places.ts";
import type { MemberEdits } from "./transform.ts";

/** The content of an error: its texts, and the member that it calls unsupported by its code; "" if it names none. */
interface NamedRefusal {
  readonly text: string;
  readonly unsupported: string;
}

/** Members in which servers describe the fault; none of them contains values of the request. */
const SAYING = ["error", "message", "msg", "detail", "param", "loc"] as const;
/** Honest errors are not deeper. */
const DEPTH_MAX = 6;
/** Longer strings of the request are decoded in steps. */
const AT_ONCE_BYTES = 1024;

const decoder = new TextDecoder();

/** The text of an error in the start of its body; if that is not a whole JSON document, all of it. */
export function refusalIn(body: Uint8Array): NamedRefusal {
  const text = decoder.decode(body);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return { text, unsupported: "" };
  }
  const { error } = isJsonObject(document) ? document : {};
  const { code, param } = isJsonObject(error) ? error : {};
  const isUnsupported = code === "unsupported_parameter" && typeof param === "string";
  return { text: saidIn(document, 0).join("\n"), unsupported: isUnsupported ? param : "" };
}

function saidIn(value: unknown, depth: number): readonly string[] {
  if (typeof value === "string") return [value];
  if (depth === DEPTH_MAX) return [];
  if (Array.isArray(value)) return value.flatMap((item) => saidIn(item, depth + 1));
  return isJsonObject(value) ? SAYING.flatMap((name) => saidIn(value[name], depth + 1)) : [];
}

/** Whether the error names every member that is changed. */
export function isNamedIn({ text }: NamedRefusal, edits: MemberEdits): boolean {
  return [...edits.keys()].every((name) => text.includes(name));
}

/** The names that only a refusal of these changes can have: of removed members, which nothing else mentions. */
export function tellingNames(edits: MemberEdits): readonly string[] {
  const removed = [...edits.keys()].filter((name) => edits.get(name) === undefined);
  return removed.length > 0 ? removed : [...edits.keys()];
}

/** Those of the names that a text of the document contains, or a name in it below its top level. */
export function* namesWithin(pieces: readonly Uint8Array[], names: readonly string[]): Steps<ReadonlySet<string>> {
  const document = new BytePieces(pieces);
  const found = new Set<string>();
  const look = (text: string): void => {
    for (const name of names) if (text.includes(name)) found.add(name);
  };
  const isLong = ({ start, end }: Span): boolean => end - start > AT_ONCE_BYTES;
  const longOnes = yield* stringPlaces(pieces, UNKNOWN_WAY, (path, isName, span) => {
    if (isName && path.length === 1 && names.includes(String(path[0]))) return false;
    if (isLong(span)) return true;
    look(String(JSON.parse(decoder.decode(document.slice(span.start, span.end)))));
    return false;
  });
  for (const { span } of longOnes) look(yield* stringAt(document, span));
  return found;
}
