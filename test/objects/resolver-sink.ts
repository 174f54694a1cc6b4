/**
 * A stand-in for the public resolver that is asked for the name of a failed upstream. It knows one name, which has an alias
 * before its addresses; for one name it is unavailable; it knows no other name.
 */

/** A name that resolves, one that does not, and one whose lookup fails. No server listens at any of them. */
export const NAMES = { known: "known.invalid", unknown: "unknown.invalid", away: "away.invalid" } as const;

export const RESOLVER_HOST = "cloudflare-dns.com";

/** Answers in the JSON form of DNS over HTTPS (RFC 8484). */
export function resolve(url: URL): Response {
  const name = url.searchParams.get("name");
  if (name === NAMES.away) return new Response("no answer", { status: 503 });
  if (name !== NAMES.known) return Response.json({ Status: 3 });
  const alias = { name, type: 5, data: "alias.invalid." };
  const address =
    url.searchParams.get("type") === "A" ? { type: 1, data: "192.0.2.7" } : { type: 28, data: "2001:db8::7" };
  return Response.json({ Status: 0, Answer: [alias, { name: "alias.invalid", ...address }] });
}
