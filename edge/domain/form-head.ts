/**
 * What the headers of a form say (RFC 7578): the boundary of its body, and the name of a part. Readings that another
 * parser could take differently are refused, so that the model that was admitted is the model that the upstream reads.
 */

import { isJudgedName, TOKEN_LIMITS } from "./client-fields.ts";

/** A part, as its headers describe it. */
export interface FormPart {
  readonly name: string;
  /** It carries a file; its bytes are never looked at. */
  readonly file: boolean;
}

const TEXT_ENCODINGS = new Set(["7bit", "8bit", "binary"]);
/** Fields that are read: no files, and not encoded. */
const READ = new Set<string>(["model", "n", ...TOKEN_LIMITS]);

/** The boundary of a multipart/form-data content type, or null when there is none to rely on. */
export function boundaryOf(contentType: string | null): string | null {
  const [media = "", ...parameters] = splitParameters(contentType ?? "");
  if (media.trim().toLowerCase() !== "multipart/form-data") return null;
  const found = parameters.map(readParameter).filter((parameter) => parameter?.name === "boundary");
  const boundary = found.length === 1 ? (found[0]?.value ?? "") : "";
  return /^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/.test(boundary) ? boundary : null;
}

/** The part that a block of headers (lines ended by CRLF) begins; null when it is no part of a form, or an ambiguous one. */
export function partOf(headers: string): FormPart | null {
  let disposition: string | null = null;
  let encoding = "binary";
  for (const line of headers.split("\r\n")) {
    const colon = line.indexOf(":");
    if (line === "") continue;
    if (colon < 1 || /^\s|[\r\n]/.test(line)) return null;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === "content-transfer-encoding") encoding = value.toLowerCase();
    if (name !== "content-disposition") continue;
    if (disposition !== null) return null;
    disposition = value;
  }
  const part = disposition === null ? null : partOfDisposition(disposition);
  if (part === null || !READ.has(part.name)) return part;
  return part.file || !TEXT_ENCODINGS.has(encoding) ? null : part;
}

function partOfDisposition(disposition: string): FormPart | null {
  const [kind = "", ...rest] = splitParameters(disposition);
  if (kind.trim().toLowerCase() !== "form-data") return null;
  const parameters = rest.filter((text) => text.trim() !== "").map(readParameter);
  if (parameters.includes(null)) return null;
  const names = parameters.filter((parameter) => parameter?.name === "name");
  const name = names.length === 1 ? (names[0]?.value ?? null) : null;
  const starred = parameters.some((parameter) => parameter?.name === "name*");
  if (name === null || starred) return null;
  if (isDisguised(name)) return null;
  return { name, file: parameters.some((parameter) => /^filename\*?$/.test(parameter?.name ?? "")) };
}

/** Another parser may undo an escape or trim: what it could read as a name that counts has to be written plainly. */
function isDisguised(name: string): boolean {
  const plain = name
    .replaceAll("\\", "")
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .trim();
  return plain !== name && isJudgedName(plain);
}

/** Cuts at the semicolons that stand outside quotes. */
function splitParameters(text: string): readonly string[] {
  return text.match(/(?:"(?:\\.|[^"\\])*"|[^;"])+/g) ?? [];
}

/** `name=token` or `name="text"`; the text as it is written, without its quotes. */
function readParameter(text: string): { readonly name: string; readonly value: string } | null {
  const match = /^\s*([^\s=;"]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^\s;"]*))\s*$/.exec(text);
  const name = match?.[1]?.toLowerCase();
  return name === undefined ? null : { name, value: match?.[2] ?? match?.[3] ?? "" };
}
