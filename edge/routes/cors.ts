/** Web pages that call the data plane from a browser (docs/rules/headers.md#from-a-browser). */

/** How long a browser may remember the answer to its preflight, in seconds. */
const PREFLIGHT_FOR_SECS = 600;

/** Which pages may read the answer to this request; null: none, or the request is not from a page. */
export function allowedOrigin(allowed: ReadonlySet<string>, { headers }: Request): string | null {
  const origin = headers.get("origin");
  if (origin === null) return null;
  if (allowed.has("*")) return "*";
  return allowed.has(origin) ? origin : null;
}

/** Whether a browser asks which requests a page may send. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers.has("access-control-request-method");
}

/** The answer to a preflight. */
export function preflightAnswer({ headers }: Request, ids: Readonly<Record<string, string>>): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...ids,
      "access-control-allow-methods": "GET, HEAD, POST, DELETE",
      "access-control-allow-headers": headers.get("access-control-request-headers") ?? "",
      "access-control-max-age": String(PREFLIGHT_FOR_SECS),
    },
  });
}

/** Lets pages of an origin read an answer. */
export function allowOrigin(headers: Headers, origin: string): void {
  headers.set("access-control-allow-origin", origin);
  headers.set("access-control-expose-headers", "*");
  headers.append("vary", "origin");
}
