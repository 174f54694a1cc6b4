/** What the console's server says about the session, judged (docs/rules/console.md#sessions). Pure. */
import { ApiError } from "./api-error.ts";
import { fieldsOf, textOf } from "./untyped.ts";

const ROLES = ["admin", "user"] as const;
const STATUSES = ["pending", "active", "disabled"] as const;

/** The person who has signed in. */
export interface SessionUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly provider: string;
  readonly role: (typeof ROLES)[number];
  readonly status: (typeof STATUSES)[number];
  readonly tenant_id: string | null;
}

export interface Session {
  readonly user: SessionUser | null;
  readonly providers: readonly { readonly id: string; readonly name: string }[];
  /** Of the files that the server hands out now; null: it has none. */
  readonly build: string | null;
  /** Where clients reach the data plane, without a slash at its end; null: nobody has signed in. */
  readonly proxy_base_url: string | null;
  /** A Grafana that has the gateway's dashboard, without a slash at its end; null: there is none for this person. */
  readonly grafana_url: string | null;
  /** A job scheduler, or something that it should run, is configured; or nobody knows. */
  readonly has_deployments: boolean;
}

/** The session of an answer. Throws ApiError `not_understood`. */
export function sessionOf(body: unknown): Session {
  const { user, providers, build, proxy_base_url, grafana_url, has_deployments } = fieldsOf(body);
  const known = userOf(user);
  if ((user !== null && known === null) || !Array.isArray(providers)) throw notUnderstood(200);
  return {
    user: known,
    providers: providers.flatMap((provider: unknown) => {
      const { id, name } = fieldsOf(provider);
      return typeof id === "string" && typeof name === "string" ? [{ id, name }] : [];
    }),
    build: textOf(build),
    proxy_base_url: textOf(proxy_base_url),
    grafana_url: webAddressOf(grafana_url),
    has_deployments: has_deployments !== false,
  };
}

/** A user; null: it is none. */
export function userOf(value: unknown): SessionUser | null {
  const { id, email, name, provider, role, status, tenant_id } = fieldsOf(value);
  const knownRole = ROLES.find((one) => one === role);
  const knownStatus = STATUSES.find((one) => one === status);
  if (typeof id !== "string" || typeof email !== "string" || knownRole === undefined || knownStatus === undefined)
    return null;
  return {
    id,
    email,
    name: textOf(name) ?? email,
    provider: textOf(provider) ?? "",
    role: knownRole,
    status: knownStatus,
    tenant_id: textOf(tenant_id),
  };
}

/** A web address; null: it is none, or leads elsewhere, such as into a script. */
function webAddressOf(value: unknown): string | null {
  const text = textOf(value);
  return text !== null && /^https?:$/.test(URL.parse(text)?.protocol ?? "") ? text : null;
}

export function notUnderstood(status: number): ApiError {
  return new ApiError(status, "not_understood", "the answer is not a session");
}
