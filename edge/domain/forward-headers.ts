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
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const DROPPED_PREFIXES = ["proxy-", "cf-", "x-forwarded-"];

/** The client's headers as they go upstream; `credential` becomes the bearer token when set. */
export function upstreamHeaders(client: Headers, credential: string | null): Headers {
  const headers = new Headers();
  const connection = client.get("connection");
  for (const [name, value] of client) {
    if (!DROPPED.has(name) && !DROPPED_PREFIXES.some((prefix) => name.startsWith(prefix))) headers.append(name, value);
  }
  // What the client's connection lists was meant for this hop only (RFC 9110 §7.6.1).
  for (const name of connection?.split(",") ?? []) if (HEADER_NAME.test(name.trim())) headers.delete(name.trim());
  if (credential !== null && credential !== "") headers.set("authorization", `Bearer ${credential}`);
  return headers;
}

/** What of the upstream's headers the client gets. */
export function clientHeaders(upstream: Headers, status: number): Record<string, string> {
  const headers: Record<string, string> = {};
  const contentType = upstream.get("content-type");
  if (contentType !== null) headers["content-type"] = contentType;
  const retryAfter = upstream.get("retry-after");
  if (status === 429 && retryAfter !== null) headers["retry-after"] = retryAfter;
  return headers;
}
