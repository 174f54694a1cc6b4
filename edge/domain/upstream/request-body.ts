/**
 * The body that goes upstream: the client's bytes with `model` replaced, and the members that boons and transforms give
 * a new value (docs/rules/request-bodies.md#what-goes-upstream, docs/rules/streams.md#usage-event). Everything else stays
 * byte for byte what the client sent.
 */
import type { Steps } from "../../../shared/steps.ts";
import type { TopLevel } from "../../../shared/wire/json-top-level.ts";
import { type BytePieces, type Edit, splice } from "../wire/bytes/byte-pieces.ts";
import { writtenInSteps } from "../wire/json/write-in-steps.ts";
import type { MemberEdits } from "./transform.ts";

/**
 * Replaces every `model` member and applies the edits: members that do not exist are added at the end, and those without a
 * new value are removed. Returns the pieces, in order. `document` is a JSON object with at least one member that stays;
 * `top` is its top level and holds every member that is changed.
 */
export function rewriteBody(
  document: BytePieces,
  top: TopLevel,
  upstreamModel: string,
  changed: MemberEdits,
): readonly Uint8Array[] {
  const edits: Edit[] = [];
  const removed = new Set<string>();
  for (const [name, value] of [["model", upstreamModel] as const, ...changed]) {
    const text = value instanceof Uint8Array ? value : (JSON.stringify(value) as string | undefined);
    if (text === undefined) removed.add(name);
    else if (!replace(edits, top, name, text))
      for (const added of [`,${JSON.stringify(name)}:`, text])
        edits.push({ span: { start: top.closeAt, end: top.closeAt }, text: added });
  }
  return splice(document, removed.size === 0 ? edits : [...edits, ...removals(top, removed)]);
}

/** The edits, with lists and objects written already. */
export function* writtenEdits(edits: MemberEdits): Steps<MemberEdits> {
  const written = new Map<string, unknown>();
  for (const [name, value] of edits)
    written.set(name, typeof value === "object" && value !== null ? yield* writtenInSteps(value) : value);
  return written;
}

/** Removes members together with one comma each. `model` stays, so that some member always does. */
function removals({ members }: TopLevel, names: ReadonlySet<string>): readonly Edit[] {
  const gone = members.filter(({ name }) => names.has(name));
  return gone.map(({ position, withComma, toNext }, goneBefore) => ({
    span: position > goneBefore ? withComma : toNext,
    text: "",
  }));
}

/** Replaces every member of that name; false if there is none. */
function replace(edits: Edit[], { members }: TopLevel, name: string, text: Edit["text"]): boolean {
  const before = edits.length;
  for (const member of members) if (member.name === name) edits.push({ span: member.value, text });
  return edits.length > before;
}
