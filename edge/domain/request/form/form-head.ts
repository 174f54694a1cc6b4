/**
 * Reads the headers of a form (RFC 7578): the boundary of its body, and the name of a part. Anything that another parser
 * could read differently is refused, so that the admitted model is the model that the upstream reads. The accepted form is
 * what clients write; there are parsers that look for `name=` and `boundary=` in any place, that support the continuations
 * and charsets of RFC 2231, that ignore quotes, cut at commas, or decode.
 */

import { foldedName, GUARDED_FIELDS, isCheckedName, TOKEN_LIMITS } from "../client-fields.ts";
import { isImageCount } from "../image-count.ts";

/** A part, as described by its headers. */
export interface FormPart {
  readonly name: string;
  /** It is a file; its bytes are never inspected. */
  readonly file: boolean;
  /**
   * How its text is encoded, by its own statement: `ascii` for a charset that is like UTF-8 only in ASCII, null for a charset
   * or an encoding in which even ASCII bytes mean other characters.
   */
  readonly written: "utf-8" | "ascii" | null;
}

interface Parameter {
  /** In lower case. */
  readonly name: string;
  /** In its written form, without its quotes. */
  readonly value: string;
  readonly quoted: boolean;
}

const TEXT_ENCODINGS = new Set(["7bit", "8bit", "binary"]);
const UTF_8 = new Set(["utf-8", "utf8"]);
/** In these charsets an ASCII letter is also its ASCII byte; other bytes differ from UTF-8. */
const LIKE_ASCII = new Set(["us-ascii", "iso-8859-1"]);
/** Fields that the gateway reads: they must be neither files nor encoded. */
const READ = new Set<string>(["model", "n", ...TOKEN_LIMITS, ...GUARDED_FIELDS]);

/** The boundary of a multipart/form-data content type, or null when there is no reliable one. */
export function boundaryOf(contentType: string | null): string | null {
  const [media = "", ...rest] = splitParameters(contentType ?? "");
  if (trimmed(media).toLowerCase() !== "multipart/form-data") return null;
  const parameters = readParameters(rest);
  const [boundary, another] = parameters?.filter(({ name }) => name === "boundary") ?? [];
  if (boundary === undefined || another !== undefined) return null;
  const others = parameters?.filter((parameter) => parameter !== boundary) ?? [];
  const names = new Set(others.map(({ name }) => name));
  if (names.size < others.length || !others.every(isPlainParameter)) return null;
  return isBoundary(boundary) ? boundary.value : null;
}

/**
 * True for a parameter of a form's content type, other than its boundary, that names neither another boundary nor another way
 * to read names.
 */
function isPlainParameter({ name, value }: Parameter): boolean {
  if (!/^[a-z-]+$/.test(name) || !/^[\w.+-]*$/.test(value) || /boundary/i.test(name + value)) return false;
  return name !== "charset" || writtenAs(value) !== null;
}

/** RFC 2046 section 5.1.1, without comma and single quote; a value that is not a token must be quoted. */
function isBoundary({ value, quoted }: Parameter): boolean {
  if (/boundary\s*=/i.test(value)) return false;
  return (quoted ? /^(?! )[\w()+\-./:=? ]{0,69}[\w()+\-./:=?]$/ : /^[\w+\-.]{1,70}$/).test(value);
}

/** The part that a block of headers (lines ended by CRLF) starts; null if it is not a part of a form, or is ambiguous. */
export function partOf(headers: string): FormPart | null {
  const read = readHeaders(headers);
  if (read === null || headers.match(/content-disposition/gi)?.length !== 1) return null;
  const part = partOfDisposition(read.get("content-disposition") ?? "");
  const type = read.get("content-type") ?? "";
  // A form or a message within the form has its own parts.
  if (part === null || /^(?:multipart|message)\b/i.test(type)) return null;
  // parsers differ in which of two charsets they use
  const names = type.match(/charset/gi)?.length ?? 0;
  const charset = names === 0 ? "utf-8" : names === 1 && /charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1];
  const isPlain = TEXT_ENCODINGS.has((read.get("content-transfer-encoding") ?? "binary").toLowerCase());
  const written = isPlain && typeof charset === "string" ? writtenAs(charset) : null;
  const isRead = READ.has(part.name) || isImageCount(part.name);
  return isRead && (part.file || written === null) ? null : { ...part, written };
}

function writtenAs(charset: string): FormPart["written"] {
  const name = charset.toLowerCase();
  return UTF_8.has(name) ? "utf-8" : LIKE_ASCII.has(name) ? "ascii" : null;
}

/** Whether the content type of a form says that its texts are not UTF-8 beyond ASCII. */
export function isFormLikeAscii(contentType: string | null): boolean {
  const charset = /charset\s*=\s*"?([^\s;"]*)/i.exec(contentType ?? "")?.[1];
  return charset !== undefined && writtenAs(charset) !== "utf-8";
}

/** Values by names in lower case; null when a line is not a plain header, or a name occurs twice. */
function readHeaders(headers: string): ReadonlyMap<string, string> | null {
  const read = new Map<string, string>();
  for (const line of headers.split("\r\n")) {
    if (line === "") continue;
    const [, written = "", value] = /^([\w!#$%&'*+\-.^`|~]+):(.*)$/s.exec(line) ?? [];
    const name = written.toLowerCase();
    if (value === undefined || hasControl(value) || read.has(name)) return null;
    read.set(name, trimmed(value));
  }
  return read;
}

/** True for text with a control character other than a tab, or with a Unicode line end. */
function hasControl(text: string): boolean {
  return /[^\P{Cc}\t]|[\u2028\u2029]/u.test(text);
}

function partOfDisposition(disposition: string): Omit<FormPart, "written"> | null {
  const [kind = "", ...rest] = splitParameters(disposition);
  if (trimmed(kind).toLowerCase() !== "form-data") return null;
  const parameters = readParameters(rest);
  if (parameters === null || disposition.match(/\bname[\s*\d]*=/gi)?.length !== 1) return null;
  if (!parameters.every(({ name }) => /^(?:name|filename\*?|(?!.*name)[a-z-]+)$/.test(name))) return null;
  const found = parameters.find(({ name }) => name === "name");
  if (found === undefined || isDisguised(found)) return null;
  return { name: found.value, file: parameters.some(({ name }) => name.startsWith("filename")) };
}

/**
 * Another parser may undo an escape, trim, take the text before a bracket, or write an underscore: a value that it could read
 * as a relevant name must be written plainly. A field `_charset_` sets the decoding of all other fields.
 */
function isDisguised({ value, quoted }: Parameter): boolean {
  if (/[\\\ufffd]|=\?/.test(value) || (!quoted && /['*]/.test(value))) return true;
  const decoded = value.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const plain = trimmed(decoded, /[\s+'"]/)
    .replace(/\[.*$/s, "")
    .replace(/[ .+]/g, "_");
  if (plain.toLowerCase() === "_charset_") return true;
  if (!isImageCount(value) && (isImageCount(plain) || isImageCount(decoded))) return true;
  return plain !== value && (isCheckedName(plain) || READ.has(foldedName(plain)));
}

/** Splits at the semicolons outside quotes. In linear time, like everything that reads a client's header. */
function splitParameters(text: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === '"') quoted = !quoted;
    else if (letter === "\\" && quoted) at += 1;
    else if (letter === ";" && !quoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

/** The parameters; null when one of them is invalid. A semicolon may follow the last one. */
function readParameters(texts: readonly string[]): readonly Parameter[] | null {
  const written = trimmed(texts.at(-1) ?? "") === "" ? texts.slice(0, -1) : texts;
  const parameters = written.map(readParameter);
  return parameters.every((parameter) => parameter !== null) ? parameters : null;
}

/** `name=token` or `name="text"`. */
function readParameter(text: string): Parameter | null {
  const match = /^([^\s=;"]+)=(?:"((?:\\.|[^"\\])*)"|([\w!#$%&'*+\-.^`|~]+))$/.exec(trimmed(text));
  const name = match?.[1]?.toLowerCase();
  return name === undefined ? null : { name, value: match?.[2] ?? match?.[3] ?? "", quoted: match?.[2] !== undefined };
}

/**
 * The text without spaces and tabs at its ends, which are the only blanks that every parser removes; or without other
 * blanks.
 */
function trimmed(text: string, blank = /[ \t]/): string {
  let start = 0;
  let end = text.length;
  while (start < end && blank.test(text.charAt(start))) start += 1;
  while (end > start && blank.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}
