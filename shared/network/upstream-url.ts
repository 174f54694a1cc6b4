/**
 * The address that a request is sent to (docs/rules/upstream-calls.md#address): the base without trailing slash, the client's
 * path, the query. When the base ends in `/v1` and the path starts with `/v1/`, one of the two is dropped; if the path is one
 * that model servers have beside `/v1`, the base's `/v1` is dropped. There is no other tolerance.
 */

/** What vLLM, SGLang, llama.cpp and TEI answer at their root only. */
const BESIDE_V1 =
  /^\/(?:v2\/.+|tokenize|detokenize|score|classify|pooling|generate|embed|completion|infill|apply-template)$/;

/** `base` is an api_base or the default upstream; `path` and `search` are the client's. */
export function upstreamUrl(base: string, path: string, search: string): string {
  const trimmed = base.replace(/\/+$/, "");
  if (!trimmed.endsWith("/v1")) return trimmed + path + search;
  const root = trimmed.slice(0, -"/v1".length);
  return (path.startsWith("/v1/") || BESIDE_V1.test(path) ? root : trimmed) + path + search;
}

/**
 * True when a path may be forwarded (docs/rules/routes.md#paths). It must contain no `..` segment, not even with
 * backslashes (a URL treats them as slashes) or before a semicolon (some servers drop what follows it), and no encoded
 * dot, slash or backslash, however often it is encoded.
 */
export function isSafePath(rawPath: string): boolean {
  return !/%(?:25)*(?:2e|2f|5c)/i.test(rawPath) && !/(?:^|[/\\])\.\.(?:[;/\\]|%(?:25)*3b|$)/i.test(rawPath);
}

/** The URL of an upstream, or a short phrase that states its fault. */
export function parseUpstreamUrl(text: string): URL | string {
  const url = URL.parse(text);
  if (url === null) return "must be an http or https URL";
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must be an http or https URL";
  if (url.username !== "" || url.password !== "") return "must not contain user info";
  if (url.hash !== "") url.hash = "";
  return url;
}
