/** What a browser asks of its own session: who it is, how one can sign in, and which of several tenants it shows. */
import type { Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import { isWide } from "../../shared/fields/roles.ts";
import { storedId } from "../../shared/schema/common.ts";
import { parse } from "../kernel/parse.ts";
import type { ConsolePerson } from "../users/person.ts";
import type { DashboardEnv } from "./env.ts";
import type { Sessions } from "./sessions.ts";

const BODY_MAX_BYTES = 1024;

interface SessionRoutes {
  readonly env: DashboardEnv;
  readonly sessions: Sessions;
  /** Of the files that browsers load; null: there are none. */
  readonly build: string | null;
  readonly nowMs: () => number;
  /** Null: nobody has signed in. */
  readonly signedIn: (c: Context) => Promise<ConsolePerson | null>;
  /** Throws DashboardError 401, 403. */
  readonly activeUser: (c: Context) => Promise<ConsolePerson>;
  readonly jsonOf: (c: Context) => Promise<unknown>;
  readonly onTooLarge: () => never;
  readonly hasDeployments: () => Promise<boolean>;
}

export function sessionRoutes(
  app: Hono,
  { env, sessions, build, nowMs, signedIn, activeUser, jsonOf, onTooLarge, hasDeployments }: SessionRoutes,
): void {
  app.get("/api/session", async (c) => {
    const user = await signedIn(c);
    const isActive = user?.status === "active";
    const seesAll = isActive && isWide(user.role);
    const grouped = env.providers.filter(({ groupsClaim }) => groupsClaim !== null);
    return c.json({
      user: user === null ? null : shownUser(user),
      providers: env.providers.map(({ id, name }) => ({ id, name })),
      group_providers: seesAll ? grouped.map(({ id }) => id) : [],
      proxy_base_url: isActive ? env.proxyBaseUrl : null,
      grafana_url: seesAll ? env.grafanaUrl : null,
      has_deployments: seesAll && (await hasDeployments()),
      build,
      now_ms: nowMs(),
    });
  });

  app.post("/api/session/tenant", bodyLimit({ maxSize: BODY_MAX_BYTES, onError: onTooLarge }), async (c) => {
    const { session_id, tenants } = await activeUser(c);
    const { tenant_id } = parse(z.object({ tenant_id: storedId }), await jsonOf(c));
    if (!tenants.some(({ id }) => id === tenant_id)) throw new GatewayError("not_found");
    await sessions.choose(session_id, tenant_id);
    return c.body(null, 204);
  });
}

/** A person as the own browser may know. */
export function shownUser({ id, email, name, provider, role, status, tenant_id, tenants, session_id }: ConsolePerson) {
  return { id, email, name, provider, role, status, tenant_id, tenants, session_id };
}
