/**
 * What the database knows that a person has to act on (docs/rules/attention.md): models and endpoints that are down, tenants
 * and keys whose access ends soon, people who wait for approval, changes that do not reach the data plane, settings without effect.
 */
import { and, asc, count, eq, gt, lte, min, sql } from "drizzle-orm";
import type { FoundItem } from "../../../shared/schema/attention.ts";
import { assistantWarnings } from "../../../shared/schema/settings/assistant.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { modelHealth, models } from "../../db/schema/models.ts";
import { apiKeys, tenants } from "../../db/schema/tenancy.ts";
import { users } from "../../db/schema/users.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { assistantSetting } from "../../kernel/settings/definitions.ts";
import { readSetting } from "../../kernel/settings/setting.ts";
import { isKeyOfPeople } from "../../tenants/own-tenants.ts";
import { KEYS_LISTED_MAX } from "../issues-of-keys.ts";
import { entriesOfKeys } from "./entries-of-keys.ts";
import { inUse, provisionerAttention } from "./provisioner-attention.ts";

/** As much as the whole list shows, of each kind. */
const ROWS_MAX = 200;
const AHEAD_MS = 72 * 3_600_000;
const SYNC_OVERDUE_MS = 60_000;

/** The entries, in no particular order. Rejects when the database does not answer. */
export async function recordAttention(ctx: VerbContext): Promise<readonly FoundItem[]> {
  const now = ctx.now();
  return [
    ...(await downModels(ctx, now)),
    ...(await downEndpoints(ctx, now)),
    ...(await provisionerAttention(ctx, now)),
    ...(await endingTenants(ctx, now)),
    ...(await endingKeys(ctx, now)),
    ...(await pendingUsers(ctx)),
    ...(await pendingChanges(ctx, now)),
    ...(await settingsWithoutEffect(ctx)),
  ];
}

async function downModels({ db }: VerbContext, now: Date): Promise<readonly FoundItem[]> {
  const rows = await db
    .select({ id: models.id, name: models.model_name, health: modelHealth })
    .from(modelHealth)
    .innerJoin(models, eq(models.id, modelHealth.model_id))
    .where(and(eq(modelHealth.status, "unhealthy"), inUse(now)))
    .orderBy(asc(modelHealth.failing_since))
    .limit(ROWS_MAX);
  return rows.map(({ id, name, health }) => ({
    kind: "model_down",
    entity_type: "model",
    entity_id: id,
    name,
    detail: downDetail(health.consecutive_failures, health.last_message),
    since: health.failing_since?.toISOString() ?? null,
  }));
}

async function downEndpoints({ db }: VerbContext, now: Date): Promise<readonly FoundItem[]> {
  const rows = await db
    .select({ endpoint: modelEndpoints, model: models.model_name })
    .from(modelEndpoints)
    .innerJoin(models, eq(models.id, modelEndpoints.model_id))
    .where(and(eq(modelEndpoints.health_status, "unhealthy"), eq(modelEndpoints.enabled, true), inUse(now)))
    .orderBy(asc(modelEndpoints.failing_since))
    .limit(ROWS_MAX);
  return rows.map(({ endpoint, model }) => ({
    kind: "endpoint_down",
    entity_type: "model_endpoint",
    entity_id: endpoint.id,
    name: `${model}: ${endpoint.name}`,
    detail: downDetail(endpoint.consecutive_failures, endpoint.last_message),
    since: endpoint.failing_since?.toISOString() ?? null,
  }));
}

function downDetail(failures: number, last: string | null): string {
  return `${failures} consecutive failures, last: ${last ?? "unknown"}`;
}

async function endingTenants({ db }: VerbContext, now: Date): Promise<readonly FoundItem[]> {
  const rows = await db
    .select({ id: tenants.id, name: tenants.name, until: tenants.active_until })
    .from(tenants)
    .where(
      and(
        eq(tenants.status, "active"),
        gt(tenants.active_until, now),
        lte(tenants.active_until, new Date(now.getTime() + AHEAD_MS)),
      ),
    )
    .orderBy(asc(tenants.active_until))
    .limit(ROWS_MAX);
  return rows.map(({ id, name, until }) => ({
    kind: "tenant_expires",
    entity_type: "tenant",
    entity_id: id,
    name,
    detail: `access ends at ${until?.toISOString() ?? ""}`,
    since: null,
  }));
}

/** Keys that are in use: one that is disabled, or whose tenant is not served, is nobody's loss. */
async function endingKeys({ db }: VerbContext, now: Date): Promise<readonly FoundItem[]> {
  const tenant = apiKeys.tenant_id;
  const ending = db.$with("ending").as(
    db
      .select({
        id: apiKeys.id,
        tenantId: tenant,
        prefix: apiKeys.key_prefix,
        name: apiKeys.name,
        tenant: sql<string>`${tenants.name}`.as("tenant_name"),
        until: apiKeys.expires_at,
        keys: sql<number>`(count(*) OVER (PARTITION BY ${tenant}))::int`.as("keys"),
        place: sql<number>`row_number() OVER (PARTITION BY ${tenant} ORDER BY ${apiKeys.expires_at}, ${apiKeys.id})`.as(
          "place",
        ),
      })
      .from(apiKeys)
      .innerJoin(tenants, eq(tenants.id, tenant))
      .where(
        and(
          eq(apiKeys.disabled, false),
          // the gateway renews or removes the keys of its own tenants, and of the console
          isKeyOfPeople(apiKeys.id, tenant),
          eq(tenants.status, "active"),
          gt(apiKeys.expires_at, now),
          lte(apiKeys.expires_at, new Date(now.getTime() + AHEAD_MS)),
        ),
      ),
  );
  const rows = await db
    .with(ending)
    .select()
    .from(ending)
    .where(lte(ending.place, KEYS_LISTED_MAX))
    .orderBy(asc(ending.until))
    .limit(ROWS_MAX * KEYS_LISTED_MAX);
  return entriesOfKeys(
    rows.map(({ id, tenantId, prefix, name, tenant, until, keys }) => ({
      tenantId,
      tenant,
      key: name || prefix,
      keys,
      item: {
        kind: "key_expires",
        entity_type: "api_key",
        entity_id: id,
        name: `${tenant}: ${name || prefix}`,
        detail: `expires at ${until?.toISOString() ?? ""}`,
        since: null,
      },
    })),
    "API keys expire within 72 hours",
  );
}

/** One entry for all: anybody with an account at a public provider could otherwise fill the list. */
async function pendingUsers({ db }: VerbContext): Promise<readonly FoundItem[]> {
  const [pending] = await db
    .select({ people: count(), first: min(users.created_at) })
    .from(users)
    .where(eq(users.status, "pending"));
  if (pending === undefined || pending.people === 0) return [];
  return [
    {
      kind: "user_pending",
      entity_type: "user",
      entity_id: "pending",
      name: "Accounts",
      detail:
        pending.people === 1 ? "1 account is awaiting approval" : `${pending.people} accounts are awaiting approval`,
      since: pending.first?.toISOString() ?? null,
    },
  ];
}

async function pendingChanges({ publisher }: VerbContext, now: Date): Promise<readonly FoundItem[]> {
  const { changes, sinceMs } = await publisher.unconfirmed();
  if (sinceMs === null || now.getTime() - sinceMs <= SYNC_OVERDUE_MS) return [];
  return [
    {
      kind: "sync_pending",
      entity_type: "gateway",
      entity_id: "outbox",
      name: "Configuration",
      detail: `${changes} changes wait for the key-value store or a cell`,
      since: new Date(sinceMs).toISOString(),
    },
  ];
}

async function settingsWithoutEffect(ctx: VerbContext): Promise<readonly FoundItem[]> {
  const assistant = await readSetting(ctx, assistantSetting);
  const warnings = assistant.saved ? assistantWarnings(assistant.value) : [];
  return warnings.map((detail) => ({
    kind: "setting_without_effect",
    entity_type: "settings",
    entity_id: assistantSetting.name,
    name: assistantSetting.name,
    detail,
    since: null,
  }));
}
