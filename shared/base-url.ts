/**
 * What the address of an upstream may look like (docs/rules/models.md#addresses). Which addresses may be called is judged
 * elsewhere (shared/ssrf.ts): forms in a browser judge addresses too, and have no use for ranges of them.
 */

/** The URL of an upstream, or a short phrase that says what is wrong. */
export function parseUpstreamUrl(text: string): URL | string {
  const url = URL.parse(text);
  if (url === null) return "must be an http or https URL";
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must be an http or https URL";
  if (url.username !== "" || url.password !== "") return "must not contain user info";
  if (url.hash !== "") url.hash = "";
  return url;
}
