/**
 * Which request headers travel upstream, and which of the upstream's answer travel back (specification "Data plane
 * routes" 5, decisions §17.4, §17.5, §43.1). Credentials of the client never leave; the upstream's own never come back. The
 * client cannot say by a header which path, method or address the upstream should see, nor whose account it should use.
 */

const DROPPED = new Set([
  "host",
  "content-length",
  "authorization",
  "cookie",
  "x-api-key",
  "accept-encoding",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "forwarded",
  "x-forwarded",
  "x-real-ip",
  "true-client-ip",
  "x-original-url",
  "x-rewrite-url",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "openai-organization",
  "openai-project",
]);
const DROPPED_PREFIX = /^(?:proxy|cf|x-forwarded|x-gateway)-/;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;\s*charset="?utf-8"?)?\s*$/i;

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

/**
 * Headers of a body that was read as JSON, as they go upstream: an upstream that took it for something else (a form, another
 * charset, compressed) could read another model in it than the one that was judged. A JSON type in UTF-8 stays as it is.
 */
export function asJson(headers: Record<string, string>): Record<string, string> {
  if (!JSON_TYPE.test(headers["content-type"] ?? "")) headers["content-type"] = "application/json";
  delete headers["content-encoding"];
  return headers;
}

/** Headers of a form, which was read as its bytes are: an upstream that decompressed it could find another form. */
export function asForm(headers: Record<string, string>): Record<string, string> {
  delete headers["content-encoding"];
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
