/**
 * The session ids that a call to an MCP server, or its answer, names: the header `mcp-session-id` of MCP's streamable HTTP
 * transport, and the parameter `sessionId` or `session_id` of the older one, in any spelling that a server may take for it
 * (docs/rules/mcp.md#older-transport). A header that occurs several times reads as one value with commas, and some servers read a parameter so; the gateway cannot
 * know which one a server uses, so each counts, and the whole value too: an id may contain commas. Some servers read a value
 * without its quotes, and without what follows a `;`, though an id may have some itself. All of this counts in a call. Of an
 * answer only the whole value is an id: the ids of different sessions may start alike.
 *
 * Some servers parse an id as a UUID, so that it has many spellings: each UUID also counts by its digits.
 */

import { plainName } from "./mcp.ts";

/** Most ids that one value can name, counting what parts of it up to a `;` name; a server's own id has no commas. */
export const SESSION_IDS_MAX = 8;

/** An id in any spelling has at least so many digits without zeros, or it is no UUID. */
const UUID_DIGITS_MIN = 16;
const UUID_DIGITS = 32;

/**
 * The ids that the headers name, each once; null: more than {@link SESSION_IDS_MAX}, counting equal and empty ones of the header,
 * or one with a character that no server's id has: some servers read other alphabets' digits as their own.
 */
export function sessionIdsOf(headers: Headers, search = ""): readonly string[] | null {
  const value = headers.get("mcp-session-id")?.trim() ?? "";
  const parts = [value, ...idsInQuery(search)].flatMap((id) => id.split(",", SESSION_IDS_MAX + 1));
  if (parts.flatMap((part) => part.split(";")).length > SESSION_IDS_MAX) return null;
  const ids = [value, ...idsInQuery(search), ...parts].flatMap(upToEachSemicolon);
  if (ids.some((id) => /[^\0-\x7f]/.test(id))) return null;
  const read = eachOnce(ids.flatMap((id) => [id.trim(), unquoted(id)]));
  return eachOnce([...read, ...read.flatMap((id) => uuidOf(id, UUID_DIGITS_MIN))]);
}

/**
 * A UUID by its digits: servers ignore case, hyphens, braces and `urn:uuid:`, and some of them signs, blanks and zeros in front. No
 * id: the text does not have that many digits.
 */
function uuidOf(id: string, digitsMin: number): readonly string[] {
  const digits = id.toLowerCase().replaceAll(/urn:|uuid:|0x|[^\da-f]/g, "");
  return digits.length < digitsMin ? [] : [`uuid ${digits.replaceAll("0", "")}`];
}

/** The id, and what stands before each `;` of it. */
function upToEachSemicolon(id: string): readonly string[] {
  const parts = id.split(";");
  return parts.map((_, at) => parts.slice(0, parts.length - at).join(";"));
}

/** The id that a server gives with the headers of its answer: the whole value, unchanged and without quotes. */
export function givenIds(headers: Headers): readonly string[] {
  const value = headers.get("mcp-session-id")?.trim() ?? "";
  return withUuids([value, unquoted(value)]);
}

/** The ids that a server gives with the query of an address; `;` separates parameters only if no other separator finds an id. */
export function givenInQuery(search: string): readonly string[] {
  const whole = idsIn(search);
  return withUuids(whole.length > 0 ? whole : idsIn(search.replaceAll(";", "&")));
}

/** The ids that a server gives, each once. Servers write a UUID with all of its digits. */
function withUuids(ids: readonly string[]): readonly string[] {
  return eachOnce([...ids, ...ids.flatMap((id) => uuidOf(id, UUID_DIGITS))]);
}

function eachOnce(ids: readonly string[]): readonly string[] {
  return [...new Set(ids.filter((id) => id !== ""))];
}

/** Without quotes, and without the blanks that then begin or end a part. */
function unquoted(id: string): string {
  const parts = id.replaceAll(/["'\\]/g, "").split(";");
  return parts.map((part) => part.trim()).join(";");
}

const PARAMETERS: readonly string[] = ["sessionid", "mcpsessionid"];

/** The session ids that a query names, each once; some servers separate parameters by `;` as well. */
function idsInQuery(search: string): readonly string[] {
  return [...new Set([...idsIn(search), ...idsIn(search.replaceAll(";", "&"))])];
}

function idsIn(search: string): readonly string[] {
  const read = [...new URLSearchParams(search)];
  return [...new Set(read.flatMap(([name, id]) => (PARAMETERS.includes(plainName(name)) ? [id] : [])))];
}
