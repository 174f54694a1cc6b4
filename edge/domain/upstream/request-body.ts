/**
 * The body that goes upstream: the client's bytes with `model` replaced, and on streams without it the usage option added
 * (decisions §17.4, §22.5). Everything else stays byte for byte what the client sent.
 */
import { type BytePieces, type Edit, splice } from "../bytes/byte-pieces.ts";
import type { JsonObject } from "../json/document.ts";
import type { TopLevel } from "../json/top-level.ts";

const decoder = new TextDecoder();

/** True when a streaming request already asks for its usage event. */
export function asksForUsage(root: JsonObject): boolean {
  const options = root["stream_options"];
  return isObject(options) && options["include_usage"] === true;
}

/** What a rewritten body replaces; `top` of {@link rewriteBody} has to hold every member of these names. */
export function isRewrittenName(name: string): boolean {
  return name === "model" || name === "stream_options";
}

/**
 * Replaces `model`, every one of them, and adds `stream_options.include_usage` when `addUsage`. The pieces, in order. `top`
 * is of `document`, which is JSON.
 */
export function rewriteBody(
  document: BytePieces,
  top: TopLevel,
  upstreamModel: string,
  addUsage: boolean,
): readonly Uint8Array[] {
  const edits: Edit[] = top.members
    .filter((member) => member.name === "model")
    .map((member) => ({ span: member.value, text: JSON.stringify(upstreamModel) }));
  if (addUsage) {
    const places = top.members.filter((member) => member.name === "stream_options");
    const last = places.at(-1)?.value;
    // read from here, for in a document that was parsed long strings may be cut
    const given: unknown = last === undefined ? null : JSON.parse(decoder.decode(document.slice(last.start, last.end)));
    const text = JSON.stringify({ ...(isObject(given) ? given : {}), include_usage: true });
    if (places.length > 0) edits.push(...places.map((member) => ({ span: member.value, text })));
    else edits.push({ span: { start: top.closeAt, end: top.closeAt }, text: `,"stream_options":${text}` });
  }
  return splice(document, edits);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
