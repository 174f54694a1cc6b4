/**
 * The body that goes upstream: the client's bytes with `model` replaced, and the members that transforms give a new
 * value (docs/rules/request-bodies.md#what-goes-upstream, docs/rules/streams.md#usage-event). Everything else stays
 * byte for byte what the client sent.
 */
import { type BytePieces, type Edit, splice } from "../wire/bytes/byte-pieces.ts";
import type { TopLevel } from "../wire/json/top-level.ts";
import type { MemberEdit } from "./transform.ts";

const decoder = new TextDecoder();

/**
 * Replaces every `model` member and applies the edits: members that do not exist are added at the end, and those without a
 * new value are removed. Returns the pieces, in order. `document` is JSON that has a `model`; `top` is its top level and
 * holds every member that is changed.
 */
export function rewriteBody(
  document: BytePieces,
  top: TopLevel,
  upstreamModel: string,
  memberEdits: readonly MemberEdit[],
): readonly Uint8Array[] {
  const edits: Edit[] = [];
  replace(edits, top, "model", JSON.stringify(upstreamModel));
  const removed = new Set<string>();
  for (const [name, text] of newMembers(document, top, memberEdits)) {
    if (text === undefined) removed.add(name);
    else if (!replace(edits, top, name, text))
      edits.push({ span: { start: top.closeAt, end: top.closeAt }, text: `,${JSON.stringify(name)}:${text}` });
  }
  return splice(document, removed.size === 0 ? edits : [...edits, ...removals(top, removed)]);
}

/** Removes members together with one comma each. `model` stays, so that some member always does. */
function removals({ members }: TopLevel, names: ReadonlySet<string>): readonly Edit[] {
  const gone = members.filter(({ name }) => names.has(name));
  return gone.map(({ position, withComma, toNext }, goneBefore) => ({
    span: position > goneBefore ? withComma : toNext,
    text: "",
  }));
}

/** Replaces every member of that name; false when there is none. */
function replace(edits: Edit[], { members }: TopLevel, name: string, text: string): boolean {
  const before = edits.length;
  for (const member of members) if (member.name === name) edits.push({ span: member.value, text });
  return edits.length > before;
}

/** The new texts by name, each from the client's value and every edit of it in order; undefined: the member goes. */
function newMembers(
  document: BytePieces,
  { members }: TopLevel,
  edits: readonly MemberEdit[],
): ReadonlyMap<string, string | undefined> {
  const values = new Map<string, unknown>();
  for (const { name, value } of edits) {
    const given = values.has(name) ? values.get(name) : memberValue(document, members, name);
    values.set(name, value(given));
  }
  return new Map([...values].map(([name, value]) => [name, JSON.stringify(value)]));
}

/**
 * The value of a member, whole: a parsed document may contain cut strings. Of several members of that name the last one
 * counts, as for JSON.parse. Undefined: there is none.
 */
export function memberValue(document: BytePieces, members: TopLevel["members"], name: string): unknown {
  const place = members.findLast((member) => member.name === name)?.value;
  return place && JSON.parse(decoder.decode(document.slice(place.start, place.end)));
}
