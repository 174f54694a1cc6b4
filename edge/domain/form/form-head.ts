/**
 * What the headers of a form say (RFC 7578): the boundary of its body, and the name of a part. Readings that another
 * parser could take differently are refused, so that the model that was admitted is the model that the upstream reads.
 * What is taken is what clients write; parsers are known that look for `name=` and `boundary=` in any place, that know the
 * continuations and charsets of RFC 2231, that ignore quotes, cut at commas, or decode.
 */

import { isJudgedName, TOKEN_LIMITS } from "../request/client-fields.ts";

/** A part, as its headers describe it. */
export interface FormPart {
  readonly name: string;
  /** It carries a file; its bytes are never looked at. */
  readonly file: boolean;
}

interface Parameter {
  /** In lower case. */
  readonly name: string;
  /** As it is written, without its quotes. */
  readonly value: string;
  readonly quoted: boolean;
}

const TEXT_ENCODINGS = new Set(["7bit", "8bit", "binary"]);
/** In these a letter is the byte that it is in ASCII. */
const CHARSETS = new Set(["utf-8", "utf8", "us-ascii", "iso-8859-1"]);
/** Fields that are read: no files, and not encoded. */
const READ = new Set<string>(["model", "n", ...TOKEN_LIMITS]);

/** The boundary of a multipart/form-data content type, or null when there is none to rely on. */
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

/** Of the content type of a form, besides its boundary: nothing that names another one, or another way to read names. */
function isPlainParameter({ name, value }: Parameter): boolean {
  if (!/^[a-z-]+$/.test(name) || !/^[\w.+-]*$/.test(value) || /boundary/i.test(name + value)) return false;
  return name !== "charset" || CHARSETS.has(value.toLowerCase());
}

/** RFC 2046 §5.1.1, without comma and single quote; what is no token stands in quotes. */
function isBoundary({ value, quoted }: Parameter): boolean {
  if (/boundary\s*=/i.test(value)) return false;
  return (quoted ? /^(?! )[\w()+\-./:=? ]{0,69}[\w()+\-./:=?]$/ : /^[\w+\-.]{1,70}$/).test(value);
}

/** The part that a block of headers (lines ended by CRLF) begins; null when it is no part of a form, or an ambiguous one. */
export function partOf(headers: string): FormPart | null {
  const read = readHeaders(headers);
  if (read === null || headers.match(/content-disposition/gi)?.length !== 1) return null;
  const part = partOfDisposition(read.get("content-disposition") ?? "");
  const type = read.get("content-type") ?? "";
  // A form or a message within the form has parts of its own.
  if (part === null || /^(?:multipart|message)\b/i.test(type)) return null;
  if (!READ.has(part.name)) return part;
  const charset = /charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1];
  const plain =
    TEXT_ENCODINGS.has((read.get("content-transfer-encoding") ?? "binary").toLowerCase()) &&
    (charset === undefined ? !/charset/i.test(type) : CHARSETS.has(charset.toLowerCase()));
  return part.file || !plain ? null : part;
}

/** Values by names in lower case; null when a line is no plain header, or a name comes twice. */
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

/** Control characters but for a tab, and the line ends of Unicode. */
function hasControl(text: string): boolean {
  return /[^\P{Cc}\t]|[\u2028\u2029]/u.test(text);
}

function partOfDisposition(disposition: string): FormPart | null {
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
 * Another parser may undo an escape, trim, take what stands before a bracket, or write an underscore: what it could read as a
 * name that counts has to be written plainly. A field `_charset_` says how all the others are to be decoded.
 */
function isDisguised({ value, quoted }: Parameter): boolean {
  if (/[\\\ufffd]|=\?/.test(value) || (!quoted && /['*]/.test(value))) return true;
  const decoded = value.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const plain = trimmed(decoded, /[\s+'"]/)
    .replace(/\[.*$/s, "")
    .replace(/[ .+]/g, "_");
  return plain.toLowerCase() === "_charset_" || (plain !== value && isJudgedName(plain));
}

/** Cuts at the semicolons that stand outside quotes. In linear time, as all that reads a header: it is a client's. */
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

/** Null when one of them is none. After the last one a semicolon may stand. */
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

/** Without the spaces and tabs at its ends, which are the only ones that every parser leaves out; or without others. */
function trimmed(text: string, blank = /[ \t]/): string {
  let start = 0;
  let end = text.length;
  while (start < end && blank.test(text.charAt(start))) start += 1;
  while (end > start && blank.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}
