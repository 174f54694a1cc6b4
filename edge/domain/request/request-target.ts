/**
 * The target of a request: path and query in the form of a URL, by which it is routed and forwarded. Most requests of an
 * isolate have one of a few URLs, which are parsed once.
 */

export interface RequestTarget {
  /** In the letter case of the client. */
  readonly path: string;
  /** With its question mark; "" without a query. */
  readonly search: string;
  /** The model that the path names, as on the paths of Azure's SDK; absent: the body names it. */
  readonly deployment?: string;
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
  const place = targetOf(url);
  // A query may contain data that must not be kept.
  if (text.length > KNOWN_MAX_LENGTH || text.includes("?")) return place;
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(text, place);
  return place;
}

/**
 * The target of a URL. Azure's SDK writes `/openai/deployments/{model}/...`, or `/openai/v1/...`, with the query
 * `api-version` (docs/rules/routes.md#paths-of-azure).
 */
function targetOf({ pathname, search, searchParams }: URL): RequestTarget {
  const [, deployment, rest] = /^\/openai\/(?:deployments\/([^/]+)|v1)(\/.+)$/.exec(pathname) ?? [];
  if (rest === undefined) return { path: pathname, search };
  const others = new URLSearchParams([...searchParams].filter(([name]) => name !== "api-version"));
  const place = { path: `/v1${rest}`, search: others.size === 0 ? "" : `?${others.toString()}` };
  return deployment === undefined ? place : { ...place, deployment: decoded(deployment) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
