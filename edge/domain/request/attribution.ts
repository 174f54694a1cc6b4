/**
 * What a request is attributed to in addition to its tenant and key: the tags of its header, and its end user
 * (docs/rules/routes.md#tags, docs/rules/routes.md#end-user). Both are texts of the client. They are cut or refused here, and
 * no decision depends on a tag.
 */
import { isJsonObject, type JsonDocument } from "../wire/json/document.ts";
import { cutText, printable } from "../wire/text/printable.ts";
import type { FieldFault } from "./client-fields.ts";

export const TAGS_HEADER = "x-gateway-tags";
const TAGS_MAX = 8;
const TAGS_MAX_BYTES = 1024;
const NAME = /^[A-Za-z0-9._-]{1,64}$/;
/** Printable ASCII; a comma ends the tag. */
const VALUE = /^[ -~]{1,128}$/;
const SHOWN_MAX = 64;
const END_USER_MAX = 256;

/** The tags as a row has them, `a=b,c=d` sorted by name, "" without any; or the fault of the header. */
export function readTags(header: string | null): string | FieldFault {
  if (header === null) return "";
  const fault = (message: string): FieldFault => ({ param: TAGS_HEADER, message: `${TAGS_HEADER} ${message}` });
  if (header.length > TAGS_MAX_BYTES) return fault(`must have at most ${TAGS_MAX_BYTES} bytes`);
  const tags = new Map<string, string>();
  for (const part of header.split(",")) {
    const tag = part.trim();
    if (tag === "") continue;
    const [, name = "", value = ""] = /^([^=]*?)\s*=\s*(.*)$/.exec(tag) ?? [];
    const shown = printable(tag, SHOWN_MAX);
    if (!NAME.test(name))
      return fault(
        `must be name=value pairs, names of 1 to 64 letters, digits, '.', '_' and '-': '${shown}' is not one`,
      );
    if (!VALUE.test(value))
      return fault(`must have values of 1 to 128 printable ASCII characters: '${shown}' has none`);
    if (tags.has(name)) return fault(`must have '${name}' only once`);
    tags.set(name, value);
  }
  if (tags.size > TAGS_MAX) return fault(`must have at most ${TAGS_MAX} tags`);
  return [...tags]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

/** The end user whom a body names; "": none. */
export function endUserOf(document: JsonDocument): string {
  const { user, safety_identifier, metadata } = document.root;
  const inMetadata = isJsonObject(metadata) ? metadata["user_id"] : undefined;
  return firstText(document, [user, safety_identifier, inMetadata], END_USER_MAX);
}

/** The first of these values of a document that is a text with something in it, trimmed and cut; "": none. */
export function firstText(document: JsonDocument, values: readonly unknown[], max: number): string {
  const texts = values.map((value) => (typeof value === "string" ? document.text(value) : null));
  return firstOf(texts, max);
}

/** The same of texts. */
export function firstOf(texts: readonly (string | null)[], max: number): string {
  for (const text of texts) {
    const cut = cutText((text ?? "").trim(), max);
    // Half a character is not valid text: stored it would be a replacement character, the same for every such text.
    if (cut !== "" && cut.isWellFormed()) return cut;
  }
  return "";
}
