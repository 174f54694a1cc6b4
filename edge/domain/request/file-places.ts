/** Where a body has files: their places, or their bytes (docs/rules/routes.md#places-of-files). */
import type { Steps } from "../../../shared/steps.ts";
import type { BytePieces, Span } from "../wire/bytes/byte-pieces.ts";
import { stringStartAt } from "../wire/json/string-places.ts";
import { foldedName } from "./client-fields.ts";

/** Members whose text, or list of texts, is a place or bytes of a file; no text for models, in the rules of guardrails. */
export const FILE_MEMBERS: readonly string[] =
  "url uri image_url audio_url video_url file_url image images mask audio video ref_audio image_embeds audio_embeds file_data image_data b64_json".split(
    " ",
  );
/** Also without underscores, as JSON of protocol buffers may write them. */
const PLACES: ReadonlySet<string> = new Set(
  [...FILE_MEMBERS, "file_uri", "video_embeds", "input_reference"].map((name) => name.replaceAll("_", "")),
);
/** A member of one of these, too, is bytes, or a place. */
const DATA = "data";
const WITH_DATA = /audio|image|video|file|source/;
/** Names of media that servers also read from a path of their disk. */
const MEDIA = /(?:image|img|audio|video|mask|wav)s?(?:ur[il]|path|data)?s?\d*$|^(?:fileur[il]|inputreference)$/;
/** The same where the member above says that it has a medium: other URLs are links. */
const IN_MEDIUM: ReadonlySet<string> = new Set(["url", "uri", "path"]);
const WITH_MEDIUM = /audio|image|video|file|mask|^(?:|source|contents?|messages|input)$/;

/** Texts that a model reads, and words and names that a client chooses: they may start like a place. */
const TEXTS: ReadonlySet<string> = new Set(
  "abstract answer answers arguments assistant badwords begin bias body cachesalt caption choice choices chunk chunks code command commands comment const content contents context contexts corpus currenturl default description diff document documents documenttitle ebnf end enum error expected function grammar guidedchoice guidedgrammar guidedregex hotwords hypothesis input inputprefix inputs inputsuffix instruction instructions items keyword keywords line lines logs lyrics message messages model note output outputs parts passage passages patch pattern preamble prediction prefix queries query question questions quote quotes reason reasoning reasoningcontent refusal reply response responses result results role safetyidentifier sentence sentences snippet stderr stdout stop stopsequences stopstrings string strings suffix summary system systeminstruction tag tags template thinking thought title token tokens transcript transcription triggers type user value".split(
    " ",
  ),
);
const LIKE_TEXTS =
  /(?:text|sentence|label|name|id|key|regex|template)s?\d*$|^(?:negative|system)?prompts?\d*$|^data\d+$/;

/** Longest start of a text that is looked at, in bytes: every character of a scheme may be escaped. */
const START_BYTES = 128;
/** The first bytes of a text with such a scheme, as characters: escaped or not, after any kind of blanks. */
const WORTH_BYTES = 5;
const WORTH = /^(?:[\\\s\u0080-\u00ff]|file:|gs:|s3:|[fgs].*\\)/i;
/** What parsers of URLs drop: at the start, and anywhere. */
const DROPPED = /^[\0-\u0020\s]+|[\t\n\r]/g;
/** Schemes that the upstream reads with its own rights: from its disk, or from a bucket of its account. */
const OWN = /^(?:file|gs|s3):/i;
/** Elsewhere than at the place of a file, only with the path that follows. */
const OWN_URL = /^(?:file|gs|s3):[/\\%]/i;
/** As long as the longest start of them. */
const OWN_LENGTH = "file:/".length;
/** A path of the upstream's disk: from its root, a home, or upwards. */
const PATH = /^(?:[/\\~.]|[^:]*[/\\]\.\.[/\\])/;
/** A text that starts like a URL with a scheme. */
const URL_LIKE = /^[^:/\\]*:/;
/** Nobody opens a longer path, in bytes, unless it is shorter without redundant slashes. */
const PATH_MAX_BYTES = 4_096;
/** Bytes that are read at once, and those that take a unit. */
const READ_BYTES = 16 * 1024;
const BYTES_PER_UNIT = 64;
const decoder = new TextDecoder();
const ESCAPED_DOT = /\\u002e/i;
const ESCAPED_LENGTH = 5;
/** Folders whose links lead around in paths of any length without a dot. */
const SYSTEM = /^\/+(?:proc|dev|sys)\//;
/** Bytes in base64, which may start with a slash. */
const BASE64 = /^[\w+/=-]*$/;
/** JPEG, MP3 (MPEG-1, 128 kbit/s), BMP and TIFF: no path starts like this. */
const MEDIA_BYTES = /^(?:\/9j\/|\/\/u[QSU]|Qk|SUkq|TU0A)/;
/** A path without a dot is not so long. */
const BASE64_MIN = 512;
/** Slashes that a path may have more of without being another one. */
const MORE_SLASHES = /\/{2,}/g;

/**
 * The meanings of a text with a name: the `path` of a file, another `place` of one or its bytes, a `setting`, which may be a
 * URL; null: a text for a model, or a name chosen by the client.
 */
export type PlaceUse = "path" | "place" | "setting" | null;

/** `above`: the name of the member that contains the text. Both are folded ({@link foldedName}). */
export function placeUse(name: string, above: string): PlaceUse {
  if (TEXTS.has(name)) return null;
  const known = name.replaceAll(/[\s_-]/g, "");
  if (MEDIA.test(known) || (IN_MEDIUM.has(known) && WITH_MEDIUM.test(above))) return "path";
  if (PLACES.has(known) || (known === DATA && WITH_DATA.test(above))) return "place";
  return TEXTS.has(known) || LIKE_TEXTS.test(known) ? null : "setting";
}

/** {@link placeUse} of a field of a form, such as `image[0][url]`. */
export function fieldPlaceUse(name: string): PlaceUse {
  const steps = foldedName(name)
    .split(/[^a-z_\d]+/)
    .filter((step) => /\D/.test(step));
  return placeUse(steps.at(-1) ?? "", steps.at(-2) ?? "");
}

/**
 * Whether a text of so many `bytes` that starts so is a place of the upstream's own, or may be: of a long one the scheme may not
 * have come. Null: it is one if it has a dot further on, otherwise base64.
 */
export function isOwnPlace(use: PlaceUse, start: string, bytes: number): boolean | null {
  const text = start.replace(DROPPED, "");
  if (bytes > START_BYTES && text.length < OWN_LENGTH) return use !== null;
  if (use === "path" && isPath(text, bytes)) {
    if (SYSTEM.test(text) || !isBase64(text)) return true;
    if (bytes > PATH_MAX_BYTES) return null;
  }
  return use === "setting" ? OWN_URL.test(text) : use !== null && OWN.test(text);
}

function isPath(start: string, bytes: number): boolean {
  return PATH.test(start) || (bytes > PATH_MAX_BYTES && !URL_LIKE.test(start));
}

function isBase64(start: string): boolean {
  if (!BASE64.test(start)) return false;
  return MEDIA_BYTES.test(start) || start.replace(MORE_SLASHES, "/").length >= BASE64_MIN;
}

/** {@link isOwnPlace} of a string of a document. */
export function isOwnPlaceAt(document: BytePieces, use: PlaceUse, span: Span): boolean | null {
  if (use === null) return false;
  const first = document.slice(span.start + 1, Math.min(span.start + 1 + WORTH_BYTES, span.end));
  if (use !== "path" && !WORTH.test(String.fromCharCode(...first))) return false;
  return isOwnPlace(use, stringStartAt(document, span, startBytesOf(use)), span.end - span.start);
}

/** Whether a string of a document has a dot: servers that resolve a path first open one of any length, such as `a/…/../b`. */
export function* hasDotAt(document: BytePieces, { start, end }: Span): Steps<boolean> {
  let before = "";
  for (const part of document.parts(start, end))
    for (let at = 0; at < part.byteLength; at += READ_BYTES) {
      const text = before + decoder.decode(part.subarray(at, at + READ_BYTES));
      if (text.includes(".") || ESCAPED_DOT.test(text)) return true;
      before = text.slice(-ESCAPED_LENGTH);
      yield text.length / BYTES_PER_UNIT;
    }
  return false;
}

/** The start of the value of a form's field. */
export function placeStartIn(value: Uint8Array, use: PlaceUse): string {
  return decoder.decode(value.subarray(0, startBytesOf(use)));
}

function startBytesOf(use: PlaceUse): number {
  return use === "path" ? 1 + PATH_MAX_BYTES : START_BYTES;
}
