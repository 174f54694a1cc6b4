/**
 * The internal routes of the control service (docs/rules/internal-traffic.md#internal-routes): what the Worker requests of
 * it. Without the token every path and method answers 404.
 */
import { GatewayError } from "../../shared/errors.ts";
import { IDENTITIES_PATH } from "../../shared/schema/identity.ts";
import { KEY_HASHES_PATH } from "../../shared/schema/key-hash.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import { FILL_PATH } from "../../shared/wire/internal.ts";
import { limitBody } from "../api/guard.ts";
import type { Api, ApiDeps } from "../api/types.ts";
import { clientBatchRoutes } from "../batches/client-routes.ts";
import { failureLevel } from "../kernel/store-watch.ts";
import { provisionIdentity } from "../tenants/provision-identity.ts";
import { renewKeyHash } from "./renew-key-hash.ts";

/** The actor in the audit log for changes that no person has requested. */
const ACTOR = "system";

export function internalRoutes(app: Api, deps: ApiDeps): void {
  app.use("/internal/*", async (c, next) => {
    if (!deps.internalTokens.accepts(c.req.header("authorization") ?? "")) {
      await deps.refusals.refuse(c);
      throw new GatewayError("not_found");
    }
    c.set("ctx", deps.context(ACTOR));
    await next();
  });
  clientBatchRoutes(app, deps.filesBucket);
  app.use("/internal/*", limitBody);
  for (const [path, verb] of [
    [IDENTITIES_PATH, provisionIdentity],
    [KEY_HASHES_PATH, renewKeyHash],
  ] as const)
    app.all(path, async (c) => {
      if (c.req.method !== "POST") throw new GatewayError("not_found");
      const input: unknown = await c.req.json().catch(() => null);
      return c.json((await verb(c.var.ctx, input)).record);
    });
  app.all(FILL_PATH, async (c) => {
    if (c.req.method !== "POST") throw new GatewayError("not_found");
    const work = deps.fill.run({ told: true });
    work.catch((error) => deps.log[failureLevel(error)]({ event: "fill_failed", reason: rootCause(error) }));
    return c.body(null, 202);
  });
}
