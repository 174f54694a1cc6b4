/**
 * Who the audit log names for a change, and from where: the values of the headers `x-gateway-audit-actor` and
 * `x-gateway-audit-address` (docs/rules/management-api.md#token-and-actor). A header is bytes; most clients send text in UTF-8, which arrives here as
 * Latin-1. `x-gateway-audit-person` says who that is: a name can be another person's later.
 */
import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import { storedId } from "../../shared/schema/common.ts";
import { fieldError } from "../kernel/parse.ts";

const HEADER = "x-gateway-audit-actor";
const ADDRESS_HEADER = "x-gateway-audit-address";
const PERSON_HEADER = "x-gateway-audit-person";
const DEFAULT = "admin";
const CHARACTERS_MAX = 256;

/**
 * The actor, trimmed. Throws 400 for more than 256 characters, and for a character that would break or reorder the line that
 * shows the actor.
 */
export function actorOf(header: string | undefined): string {
  const actor = decoded(header ?? "").trim();
  if (/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(actor))
    throw fieldError(HEADER, "must not contain control characters or line breaks");
  if (Array.from(actor).length > CHARACTERS_MAX)
    throw fieldError(HEADER, `must be at most ${CHARACTERS_MAX} characters`);
  return actor || DEFAULT;
}

/**
 * The address for which a server such as the console's has sent the request; null: it sent it for itself. Throws 400 for what
 * is no IP address.
 */
export function auditAddressOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  const address = header.trim();
  if (isIP(address) === 0) throw fieldError(ADDRESS_HEADER, "must be an IP address");
  return address;
}

/** The id of the person for whom a server such as the console's has sent the request; null: for no person. Throws 400. */
export function auditPersonOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  const id = storedId.safeParse(header);
  if (!id.success) throw fieldError(PERSON_HEADER, "must be a UUID");
  return id.data;
}

function decoded(header: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(header, "latin1"));
  } catch {
    return header;
  }
}
