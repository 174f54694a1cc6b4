/**
 * The body that goes upstream: the client's bytes with `model` replaced, and the members that transforms give a new
 * value (docs/rules/request-bodies.md#what-goes-upstream, docs/rules/streams.md#usage-event). Everything else stays
 * byte for byte what the client sent.
 */
import { type BytePieces, type Edit, splice } from "../bytes/byte-pieces.ts";
import type { TopLevel } from "../json/top-level.ts";
import type { MemberEdit } from "../transform/transform.ts";

const decoder = new TextDecoder();

/**
 * Replaces every `model` member and applies the edits; members that do not exist are added at the end. Returns the pieces,
 * in order. `document` is JSON that has a member; `top` is its top level and holds every member that is replaced.
 */
export function rewriteBody(
  document: BytePieces,
  top: TopLevel,
  upstreamModel: string,
  memberEdits: readonly MemberEdit[],
): readonly Uint8Array[] {
  const edits: Edit[] = [];
  replace(edits, top, "model", JSON.stringify(upstreamModel));
  for (const [name, text] of newMembers(document, top, memberEdits)) {
    if (replace(edits, top, name, text)) continue;
    edits.push({ span: { start: top.closeAt, end: top.closeAt }, text: `,${JSON.stringify(name)}:${text}` });
  }
  return splice(document, edits);
}

/** Replaces every member of that name; false when there is none. */
function replace(edits: Edit[], { members }: TopLevel, name: string, text: string): boolean {
  const before = edits.length;
  for (const member of members) if (member.name === name) edits.push({ span: member.value, text });
  return edits.length > before;
}

/** The new texts by name, each from the client's value and every edit of it in order. */
function newMembers(
  document: BytePieces,
  { members }: TopLevel,
  edits: readonly MemberEdit[],
): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { name, value } of edits) {
    const place = members.findLast((member) => member.name === name)?.value;
    // read from here, because a parsed document may contain cut long strings
    const text = texts.get(name) ?? (place && decoder.decode(document.slice(place.start, place.end)));
    texts.set(name, JSON.stringify(value(text === undefined ? undefined : JSON.parse(text))));
  }
  return texts;
}
