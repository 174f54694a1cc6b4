/**
 * The session ids that a call to an MCP server, or its answer, names: the header `mcp-session-id` of MCP's streamable HTTP
 * transport, and the parameter `sessionId` or `session_id` of the older one, in any spelling that a server may take for it
 * (docs/rules/mcp.md#older-transport). A header that occurs several times reads as one value with commas, and some servers read a parameter so; the gateway cannot
 * know which one a server uses, so each counts, and the whole value too: an id may contain commas. Some servers read a value
 * without its quotes, and without what follows a `;`, though an id may have some itself. All of this counts in a call. Of an
 * answer only the whole value is an id: the ids of different sessions may start alike.
 */

import { plainName } from "./mcp.ts";

/** Most ids that one value can name, counting what parts of it up to a `;` name; a server's own id has no commas. */
export const SESSION_IDS_MAX = 8;

/** The ids that the headers name, each once; null: more than {@link SESSION_IDS_MAX}, counting equal and empty ones of the header. */
export function sessionIdsOf(headers: Headers, search = ""): readonly string[] | null {
  const value = headers.get("mcp-session-id")?.trim() ?? "";
  const parts = [value, ...idsInQuery(search)].flatMap((id) => id.split(",", SESSION_IDS_MAX + 1));
  if (parts.flatMap((part) => part.split(";")).length > SESSION_IDS_MAX) return null;
  const ids = [value, ...idsInQuery(search), ...parts].flatMap(upToEachSemicolon);
  return eachOnce(ids.flatMap((id) => [id.trim(), unquoted(id)]));
}

/** The id, and what stands before each `;` of it. */
function upToEachSemicolon(id: string): readonly string[] {
  const parts = id.split(";");
  return parts.map((_, at) => parts.slice(0, parts.length - at).join(";"));
}

/** The id that a server gives with the headers of its answer: the whole value, unchanged and without quotes. */
export function givenIds(headers: Headers): readonly string[] {
  const value = headers.get("mcp-session-id")?.trim() ?? "";
  return eachOnce([value, unquoted(value)]);
}

/** The ids that a server gives with the query of an address; `;` separates parameters only if no other separator finds an id. */
export function givenInQuery(search: string): readonly string[] {
  const whole = idsIn(search);
  return whole.length > 0 ? whole : idsIn(search.replaceAll(";", "&"));
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
