/**
 * The target of a request: path and query in the form of a URL, by which it is routed and forwarded. Most requests of an
 * isolate have one of a few URLs, which are parsed once.
 */

export interface RequestTarget {
  /** In the letter case of the client. */
  readonly path: string;
  /** With its question mark; "" without a query. */
  readonly search: string;
}

/** Most URLs that are remembered; above this all are forgotten. */
const KNOWN_MAX = 200;
const KNOWN_MAX_LENGTH = 200;
const known = new Map<string, RequestTarget>();

/** The target that a URL names; null when it is not a URL. */
export function requestTargetOf(text: string): RequestTarget | null {
  const met = known.get(text);
  if (met !== undefined) return met;
  const url = URL.parse(text);
  if (url === null) return null;
  const place: RequestTarget = { path: url.pathname, search: url.search };
  // A query may contain what must not be kept.
  if (text.length > KNOWN_MAX_LENGTH || text.includes("?")) return place;
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(text, place);
  return place;
}
