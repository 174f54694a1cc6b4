/**
 * Who the audit log names for a change: the value of the header `x-gateway-audit-actor`
 * (docs/rules/management-api.md#token-and-actor). A header is bytes; most clients send text in UTF-8, which arrives here as
 * Latin-1.
 */
import { Buffer } from "node:buffer";
import { fieldError } from "../kernel/parse.ts";

const HEADER = "x-gateway-audit-actor";
const DEFAULT = "admin";
const CHARACTERS_MAX = 256;

/**
 * The actor, trimmed and cut to 256 characters. Throws 400 for a character that would break or reorder the line that shows
 * the actor.
 */
export function actorOf(header: string | undefined): string {
  const actor = decoded(header ?? "").trim();
  if (/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(actor))
    throw fieldError(HEADER, "must not contain control characters or line breaks");
  return Array.from(actor).slice(0, CHARACTERS_MAX).join("") || DEFAULT;
}

function decoded(header: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(header, "latin1"));
  } catch {
    return header;
  }
}
