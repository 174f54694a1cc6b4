/** Who has signed in, how one can, and which build the server hands out (docs/rules/console.md#sessions). */
import { queryOptions } from "@tanstack/react-query";
import { learnServerTime } from "../time/server-time.ts";
import { expectPerson, send } from "./api.ts";
import { type ApiError, errorOf } from "./api-error.ts";
import { retries } from "./reads.ts";
import { notUnderstood, type Session, type SessionUser, sessionOf, userOf } from "./session-answer.ts";
import { fieldsOf } from "./untyped.ts";

export type { Session, SessionUser } from "./session-answer.ts";

const SESSION_EVERY_MS = 60_000;
/** For people who wait until somebody approves them. */
const PENDING_EVERY_MS = 5_000;
export const SESSION_KEY = ["session"] as const;

/** The session, read again every minute: it may have ended, and the server may have a new build. Oftener by who waits for approval. */
export const sessionQuery = queryOptions<Session, ApiError>({
  queryKey: SESSION_KEY,
  queryFn: async ({ signal }) => {
    const body = await answered(await send(new Request(new URL("/api/session", location.origin), { signal })));
    learnServerTime(fieldsOf(body)["now_ms"]);
    const session = sessionOf(body);
    const { user } = session;
    expectPerson(user === null ? null : { ...user, role: user.grantedRole });
    return session;
  },
  retry: retries,
  refetchInterval: ({ state }) => (state.data?.user?.status === "pending" ? PENDING_EVERY_MS : SESSION_EVERY_MS),
  staleTime: SESSION_EVERY_MS / 2,
});

/** Signs in as the break-glass admin. Throws ApiError 401, 429. */
export async function signInLocal(credentials: {
  readonly email: string;
  readonly password: string;
}): Promise<SessionUser> {
  const response = await post("/auth/local", credentials);
  const user = userOf(fieldsOf(await answered(response))["user"]);
  if (user === null) throw notUnderstood(response.status);
  return user;
}

/** Chooses the tenant that this session shows, of a person with several. Throws ApiError 404. */
export async function chooseTenant(tenantId: string): Promise<void> {
  await answered(await post("/api/session/tenant", { tenant_id: tenantId }));
}

/** Ends the session on the server. */
export async function signOut(): Promise<void> {
  const response = await post("/auth/sign-out");
  if (!response.ok) throw errorOf(response, await response.json().catch(() => null));
}

/** Where signing in at a provider begins; afterwards the browser is at `returnTo`. */
export function providerAddress(id: string, returnTo: string): string {
  return `/auth/oidc/${encodeURIComponent(id)}?return_to=${encodeURIComponent(returnTo)}`;
}

async function post(path: string, body?: unknown): Promise<Response> {
  return await send(
    new Request(new URL(path, location.origin), {
      method: "POST",
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    }),
  );
}

/** The body of an answer. Throws ApiError for a refusal. */
async function answered(response: Response): Promise<unknown> {
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(response, body);
  return body;
}
