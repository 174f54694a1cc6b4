/**
 * Whether the services that the Worker and the deployment need can be reached from here, with the credentials that they will
 * use. A problem never contains an address or a credential, only the variable.
 */
import { type Finding, fine, wrong } from "./finding.ts";

const ANSWER_WITHIN_MS = 10_000;

/** The part of `fetch` that is used. */
export type Request = (url: string, init?: RequestInit) => Promise<Response>;

/** The addresses to check; an empty one is skipped, because another check has reported that it is missing. */
export interface ReachedStores {
  readonly redis: { readonly url: string; readonly token: string };
  readonly clickhouse: { readonly url: string; readonly user: string; readonly password: string };
  /** Where the Worker finds the control service. */
  readonly controlUrl: string;
  /** Where the operator finds the Management API. */
  readonly adminUrl: string;
  readonly adminToken: string;
}

/** Asks each; the findings are in the order of {@link ReachedStores}. */
export async function reachStores(stores: ReachedStores, request: Request): Promise<readonly Finding[]> {
  const { redis, clickhouse, controlUrl, adminUrl, adminToken } = stores;
  const asked: readonly (readonly [string, string, string, (url: string) => Promise<string | null>])[] = [
    ["key-value store", "GATEWAY_REDIS_URL", redis.url, async (url) => await pingRedis(url, redis.token, request)],
    [
      "analytics store",
      "GATEWAY_CLICKHOUSE_URL",
      clickhouse.url,
      async (url) => await pingClickhouse(url, clickhouse, request),
    ],
    ["control service", "GATEWAY_INTERNAL_BASE_URL", controlUrl, async (url) => await pingControl(url, request)],
    ["management", "GATEWAY_ADMIN_BASE_URL", adminUrl, async (url) => await readVersion(url, adminToken, request)],
  ];
  const findings = asked
    .filter(([, , url]) => url !== "")
    .map(async ([what, variable, url, ask]) => {
      const problem = await ask(url).catch((error: unknown) => reasonOf(error));
      return problem === null ? fine(what, "answers") : wrong(what, `${variable}: ${problem}`);
    });
  return await Promise.all(findings);
}

const withSlash = (url: string): string => (url.endsWith("/") ? url : `${url}/`);

const within = (): AbortSignal => AbortSignal.timeout(ANSWER_WITHIN_MS);

async function pingRedis(url: string, token: string, request: Request): Promise<string | null> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await request(url, { method: "POST", headers, body: '["PING"]', signal: within() });
  const body: unknown = await response.json().catch(() => null);
  const isPong = typeof body === "object" && body !== null && "result" in body && body.result === "PONG";
  if (isPong) return null;
  if (response.status === 401 || response.status === 403) return "refuses GATEWAY_REDIS_TOKEN of your variables";
  return `answers ${response.status} and no PONG: give the address of a REST endpoint`;
}

async function pingClickhouse(
  url: string,
  { user, password }: ReachedStores["clickhouse"],
  request: Request,
): Promise<string | null> {
  const headers = { "x-clickhouse-user": user, "x-clickhouse-key": password };
  const response = await request(withSlash(url), { method: "POST", headers, body: "SELECT 1", signal: within() });
  const text = await response.text();
  if (response.ok && text.trim() === "1") return null;
  if (response.status === 401 || response.status === 403 || response.status === 516)
    return "refuses the user or GATEWAY_CLICKHOUSE_PASSWORD of your variables";
  return `answers ${response.status} to a SELECT 1`;
}

async function pingControl(url: string, request: Request): Promise<string | null> {
  const response = await request(new URL("api/v1/health", withSlash(url)).href, { signal: within() });
  return response.ok && (await response.text()) === "ok"
    ? null
    : `answers ${response.status}, not as a control service`;
}

async function readVersion(url: string, token: string, request: Request): Promise<string | null> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await request(new URL("api/v1/tenants?limit=1", withSlash(url)).href, { headers, signal: within() });
  await response.body?.cancel();
  if (response.ok) return null;
  if (response.status === 401) return "refuses GATEWAY_ADMIN_TOKEN of your variables";
  return `answers ${response.status}, not as a Management API`;
}

/** Why no answer came. `withinMs`: how long it was waited for. */
export function reasonOf(error: unknown, withinMs = ANSWER_WITHIN_MS): string {
  let at = error;
  while (at instanceof Error && at.cause instanceof Error) at = at.cause;
  if (!(at instanceof Error)) return "cannot be reached";
  if (at.name === "TimeoutError") return `does not answer within ${withinMs / 1000} s`;
  const code = (at as NodeJS.ErrnoException).code;
  return `cannot be reached${code === undefined ? "" : ` (${code})`}`;
}
