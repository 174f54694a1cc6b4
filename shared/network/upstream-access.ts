/**
 * How a model's upstreams are called: their API, and the header that carries the credential
 * (docs/rules/upstream-calls.md#credentials).
 */
/** Who answers calls of the Responses API for a model of OpenAI's API: its upstream, or a translation to chat completions. */
export const RESPONSES_APIS = ["native", "translated"] as const;
export const API_DIALECTS = ["openai", "anthropic"] as const;

export const AUTH_SCHEMES = ["bearer", "x-api-key", "api-key", "none"] as const;

/** The fields of a model that say it, as they are stored. */
export interface UpstreamAccess {
  readonly api_dialect: string;
  readonly auth_scheme: string;
}

/** Anthropic's API requires a version. */
const ANTHROPIC_VERSION = "2023-06-01";

/** The access to an endpoint, which may have its own scheme. */
export function accessOf({ api_dialect, auth_scheme }: UpstreamAccess, own: string | null = null): UpstreamAccess {
  return { api_dialect, auth_scheme: own ?? auth_scheme };
}

/** The headers of a request to an upstream; `credential` null or "": it has none. */
export function accessHeaders(
  { api_dialect, auth_scheme }: UpstreamAccess,
  credential: string | null,
): Record<string, string> {
  const headers: Record<string, string> = api_dialect === "anthropic" ? { "anthropic-version": ANTHROPIC_VERSION } : {};
  if (!credential) return headers;
  if (auth_scheme === "bearer") headers["authorization"] = `Bearer ${credential}`;
  else if (auth_scheme !== "none") headers[auth_scheme] = credential;
  return headers;
}
