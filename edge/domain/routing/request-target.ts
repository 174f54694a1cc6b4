/**
 * Where a request is addressed to: path and query as a URL has them, which is where it is routed and forwarded to. Most
 * requests of an isolate have one of a few URLs: those are parsed once.
 */

export interface RequestTarget {
  /** Letters as they are written. */
  readonly path: string;
  /** With its question mark; "" without a query. */
  readonly search: string;
}

/** URLs that are remembered; beyond them all are forgotten. */
const KNOWN_MAX = 200;
const KNOWN_MAX_LENGTH = 200;
const known = new Map<string, RequestTarget>();

/** The place that a URL names; null when it is none. */
export function requestTargetOf(text: string): RequestTarget | null {
  const met = known.get(text);
  if (met !== undefined) return met;
  const url = URL.parse(text);
  if (url === null) return null;
  const place: RequestTarget = { path: url.pathname, search: url.search };
  // A query may hold what is not to be kept.
  if (text.length > KNOWN_MAX_LENGTH || text.includes("?")) return place;
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(text, place);
  return place;
}
