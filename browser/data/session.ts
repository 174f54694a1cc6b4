/** Who has signed in, how one can, and which build the server hands out (docs/rules/console.md#sessions). */
import { queryOptions } from "@tanstack/react-query";
import * as z from "zod/mini";
import { send } from "./api.ts";
import { ApiError, errorOf } from "./api-error.ts";
import { retries } from "./reads.ts";

const userSchema = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  provider: z.string(),
  role: z.enum(["admin", "user"]),
  status: z.enum(["pending", "active", "disabled"]),
  tenant_id: z.nullable(z.string()),
});

const sessionSchema = z.object({
  user: z.nullable(userSchema),
  providers: z.array(z.object({ id: z.string(), name: z.string() })),
  /** Of the files that the server hands out now; null: it has none. */
  build: z.nullable(z.string()),
  /** Where clients reach the data plane, without a slash at its end; null: nobody has signed in. */
  proxy_base_url: z.nullable(z.string()),
});

export type SessionUser = z.infer<typeof userSchema>;
export type Session = z.infer<typeof sessionSchema>;

const SESSION_EVERY_MS = 60_000;
export const SESSION_KEY = ["session"] as const;

/** The session, read again every minute: it may have ended, and the server may have a new build. */
export const sessionQuery = queryOptions<Session, ApiError>({
  queryKey: SESSION_KEY,
  queryFn: async ({ signal }) =>
    await parsed(await send(new Request(new URL("/api/session", location.origin), { signal })), sessionSchema),
  retry: retries,
  refetchInterval: SESSION_EVERY_MS,
  staleTime: SESSION_EVERY_MS / 2,
});

/** Signs in as the break-glass admin. Throws ApiError 401, 429. */
export async function signInLocal(credentials: {
  readonly email: string;
  readonly password: string;
}): Promise<SessionUser> {
  const response = await post("/auth/local", credentials);
  return (await parsed(response, z.object({ user: userSchema }))).user;
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

async function parsed<T>(response: Response, schema: z.ZodMiniType<T>): Promise<T> {
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(response, body);
  const result = schema.safeParse(body);
  if (!result.success) throw new ApiError(response.status, "not_understood", "the answer is not a session");
  return result.data;
}
