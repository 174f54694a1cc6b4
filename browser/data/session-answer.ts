/** What the console's server says about the session, validated (docs/rules/console.md#sessions). Pure. */
import { ApiError } from "./api-error.ts";
import { fieldsOf, textOf } from "./untyped.ts";

const ROLES = ["admin", "auditor", "user", "viewer"] as const;
const STATUSES = ["pending", "active", "disabled"] as const;

/** The person who has signed in. */
export interface SessionUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly provider: string;
  /** As whose the pages are: an auditor sees those of admins, a viewer those of a user. */
  readonly role: "admin" | "user";
  /** The role on the server. */
  readonly grantedRole: (typeof ROLES)[number];
  readonly isReadOnly: boolean;
  readonly status: (typeof STATUSES)[number];
  readonly tenant_id: string | null;
  /** All that the person may open, by name; empty for who sees every tenant. */
  readonly tenants: readonly { readonly id: string; readonly name: string }[];
  /** The id of this session. */
  readonly session_id: string | null;
}

export interface Session {
  readonly user: SessionUser | null;
  readonly providers: readonly { readonly id: string; readonly name: string }[];
  /** The ids of those whose groups can give roles; empty for who may not know. */
  readonly groupProviders: readonly string[];
  /** Of the files that the server hands out now; null: it has none. */
  readonly build: string | null;
  /** Where clients reach the data plane, without a slash at its end; null: nobody has signed in. */
  readonly proxy_base_url: string | null;
  /** A Grafana that has the gateway's dashboard, without a slash at its end; null if there is none for this person. */
  readonly grafana_url: string | null;
  /** A job scheduler, or something that it should run, is configured; or nobody knows. */
  readonly has_deployments: boolean;
}

/** The session of an answer. Throws ApiError `not_understood`. */
export function sessionOf(body: unknown): Session {
  const { user, providers, group_providers, build, proxy_base_url, grafana_url, has_deployments } = fieldsOf(body);
  const known = userOf(user);
  if ((user !== null && known === null) || !Array.isArray(providers)) throw notUnderstood(200);
  return {
    user: known,
    providers: namedOf(providers),
    groupProviders: (Array.isArray(group_providers) ? group_providers : []).map(String),
    build: textOf(build),
    proxy_base_url: textOf(proxy_base_url),
    grafana_url: webAddressOf(grafana_url),
    has_deployments: has_deployments !== false,
  };
}

/** A user; null if the value is not one. */
export function userOf(value: unknown): SessionUser | null {
  const { id, email, name, provider, role, status, tenant_id, tenants, session_id } = fieldsOf(value);
  const knownRole = ROLES.find((one) => one === role);
  const knownStatus = STATUSES.find((one) => one === status);
  if (typeof id !== "string" || typeof email !== "string" || knownRole === undefined || knownStatus === undefined)
    return null;
  return {
    id,
    email,
    name: textOf(name) ?? email,
    provider: textOf(provider) ?? "",
    role: knownRole === "admin" || knownRole === "auditor" ? "admin" : "user",
    grantedRole: knownRole,
    isReadOnly: knownRole === "auditor" || knownRole === "viewer",
    status: knownStatus,
    tenant_id: textOf(tenant_id),
    tenants: namedOf(tenants),
    session_id: textOf(session_id),
  };
}

function namedOf(list: unknown): readonly { readonly id: string; readonly name: string }[] {
  return (Array.isArray(list) ? list : []).flatMap((one: unknown) => {
    const { id, name } = fieldsOf(one);
    return typeof id === "string" && typeof name === "string" ? [{ id, name }] : [];
  });
}

/** A web address; null for anything else, such as a script. */
function webAddressOf(value: unknown): string | null {
  const text = textOf(value);
  return text !== null && /^https?:$/.test(URL.parse(text)?.protocol ?? "") ? text : null;
}

export function notUnderstood(status: number): ApiError {
  return new ApiError(status, "not_understood", "the answer is not a session");
}
