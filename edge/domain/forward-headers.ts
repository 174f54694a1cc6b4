/**
 * Which request headers travel upstream, and which of the upstream's answer travel back (specification "Data plane
 * routes" 5, decisions §17.4, §17.5). Credentials of the client never leave; the upstream's own never come back.
 */

const DROPPED = new Set([
  "host",
  "content-length",
  "authorization",
  "x-api-key",
  "accept-encoding",
  "connection",
  "x-gateway-boons",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-real-ip",
]);
const DROPPED_PREFIX = /^(?:proxy|cf|x-forwarded)-/;

/**
 * The client's headers as they go upstream, by their names in lower case; `credential` becomes the bearer token when set.
 * Plain data: a Headers object would be filled by a call for each of them, and then be copied by the fetch that takes it.
 */
export function upstreamHeaders(client: Headers, credential: string | null): Record<string, string> {
  // without a prototype, for a client may name its headers as it likes
  const headers = Object.create(null) as Record<string, string>;
  let connection = "";
  client.forEach((value, name) => {
    if (name === "connection") connection = value;
    if (DROPPED.has(name) || DROPPED_PREFIX.test(name)) return;
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  });
  // What the client's connection lists was meant for this hop only (RFC 9110 §7.6.1).
  if (connection !== "") for (const name of connection.split(",")) delete headers[name.trim().toLowerCase()];
  if (credential !== null && credential !== "") headers["authorization"] = `Bearer ${credential}`;
  return headers;
}

/** What of the upstream's headers the client gets; `contentType` is one of them. */
export function clientHeaders(upstream: Headers, status: number, contentType: string | null): Record<string, string> {
  const headers: Record<string, string> = {};
  if (contentType !== null) headers["content-type"] = contentType;
  const retryAfter = status === 429 ? upstream.get("retry-after") : null;
  if (retryAfter !== null) headers["retry-after"] = retryAfter;
  return headers;
}
