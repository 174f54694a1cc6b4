/**
 * Builds hot copies from the rows as they are now (docs/rules/storage-layouts.md#key-value-keys). Null means that the row
 * is gone and its copy must be removed.
 */
import { asc, eq, inArray, or } from "drizzle-orm";
import {
  type McpServerRecord,
  type ModelRecord,
  mcpServerRecordSchema,
  modelRecordSchema,
  type ResolvedEndpoint,
  type ResolvedKey,
  resolvedEndpointSchema,
  resolvedKeySchema,
} from "../../shared/records.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { modelEndpoints } from "../db/schema/endpoints.ts";
import { mcpServers } from "../db/schema/mcp-servers.ts";
import { modelHealth, models } from "../db/schema/models.ts";
import {
  type ApiKeyRow,
  apiKeys,
  fairshareGroups,
  type GroupRow,
  type TenantRow,
  tenants,
} from "../db/schema/tenancy.ts";

/** A statement has at most 65,535 parameters, and each hash is two of them. */
const HASHES_AT_ONCE = 5_000;

/**
 * Copies of keys by the hashes of their secrets, of the current one and of the one before a rotation; hashes without a
 * row are absent (docs/rules/keys.md#rotation).
 */
export async function buildKeys(
  db: Database | Transaction,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, ResolvedKey>> {
  const copies = new Map<string, ResolvedKey>();
  for (let at = 0; at < hashes.length; at += HASHES_AT_ONCE)
    for (const [hash, copy] of await someKeys(db, hashes.slice(at, at + HASHES_AT_ONCE))) copies.set(hash, copy);
  return copies;
}

async function someKeys(
  db: Database | Transaction,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, ResolvedKey>> {
  const asked = [...hashes];
  const rows = await db
    .select({ key: apiKeys, tenant: tenants, group: fairshareGroups })
    .from(apiKeys)
    .leftJoin(tenants, eq(tenants.id, apiKeys.tenant_id))
    .leftJoin(fairshareGroups, eq(fairshareGroups.name, tenants.fairshare_group))
    .where(or(inArray(apiKeys.key_hash, asked), inArray(apiKeys.previous_key_hash, asked)));
  const wanted = new Set(hashes);
  const copies = new Map<string, ResolvedKey>();
  for (const { key, tenant, group } of rows) {
    const { key_hash, previous_key_hash, previous_secret_until: until } = key;
    if (wanted.has(key_hash)) copies.set(key_hash, resolveKey(key, tenant, group, { key_hash, secret_until_ms: null }));
    // In a restored file two keys may claim one hash: then it is that of the key that has it now.
    if (previous_key_hash === null || until === null || !wanted.has(previous_key_hash)) continue;
    if (rows.some((row) => row.key.key_hash === previous_key_hash)) continue;
    const secret = { key_hash: previous_key_hash, secret_until_ms: until.getTime() };
    copies.set(previous_key_hash, resolveKey(key, tenant, group, secret));
  }
  return copies;
}

/** Copies of models by their names; names without a row are absent. */
export async function buildModels(
  db: Database | Transaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, ModelRecord>> {
  if (names.length === 0) return new Map();
  const rows = await db
    .select({ model: models, status: modelHealth.status })
    .from(models)
    .leftJoin(modelHealth, eq(modelHealth.model_id, models.id))
    .where(inArray(models.model_name, [...names]));
  const endpoints = await endpointsOf(
    db,
    rows.map(({ model }) => model.id),
  );
  return new Map(
    rows.map(({ model, status }) => [
      model.model_name,
      modelRecordSchema.parse({
        ...model,
        v: 1,
        prices: {
          input: model.input_cost_per_token,
          output: model.output_cost_per_token,
          image: model.cost_per_image,
          character: model.cost_per_character,
          audio_second: model.cost_per_audio_second,
          cached_input: model.cached_input_cost_per_token,
          reasoning_output: model.reasoning_output_cost_per_token,
          cache_write: model.cache_write_cost_per_token,
          audio_input: model.audio_input_cost_per_token,
          audio_output: model.audio_output_cost_per_token,
          image_input: model.image_input_cost_per_token,
          image_output: model.image_output_cost_per_token,
          input_second: model.input_cost_per_second,
        },
        supports: {
          function_calling: model.supports_function_calling,
          system_messages: model.supports_system_messages,
          response_schema: model.supports_response_schema,
          tool_choice: model.supports_tool_choice,
          vision: model.supports_vision,
        },
        health_status: status ?? "unknown",
        maintenance_until_ms: model.health_maintenance_until?.getTime() ?? null,
        created_at_ms: model.created_at.getTime(),
        endpoints: endpoints.get(model.id) ?? [],
      }),
    ]),
  );
}

/** Endpoints by the ids of their models, in the order of failover (docs/rules/upstream-calls.md#endpoint-order). */
async function endpointsOf(
  db: Database | Transaction,
  modelIds: readonly string[],
): Promise<ReadonlyMap<string, readonly ResolvedEndpoint[]>> {
  if (modelIds.length === 0) return new Map();
  const rows = await db
    .select()
    .from(modelEndpoints)
    .where(inArray(modelEndpoints.model_id, [...modelIds]))
    .orderBy(asc(modelEndpoints.priority), asc(modelEndpoints.name));
  const byModel = Map.groupBy(rows, (row) => row.model_id);
  return new Map([...byModel].map(([id, mine]) => [id, mine.map((row) => resolvedEndpointSchema.parse(row))]));
}

/** Copies of MCP servers by their names; names without a row are absent. The credential is copied as it is stored. */
export async function buildMcpServers(
  db: Database | Transaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, McpServerRecord>> {
  if (names.length === 0) return new Map();
  const rows = await db
    .select()
    .from(mcpServers)
    .where(inArray(mcpServers.name, [...names]));
  return new Map(rows.map((row) => [row.name, mcpServerRecordSchema.parse({ ...row, v: 1 })]));
}

function resolveKey(
  key: ApiKeyRow,
  tenant: TenantRow | null,
  group: GroupRow | null,
  secret: Pick<ResolvedKey, "key_hash" | "secret_until_ms">,
): ResolvedKey {
  return resolvedKeySchema.parse({
    ...key,
    v: 1,
    ...secret,
    key_id: key.id,
    key_name: key.name,
    expires_at_ms: key.expires_at?.getTime() ?? null,
    budget: budgetOf(key),
    tenant:
      tenant === null
        ? null
        : { ...tenantFields(tenant), group_weight: group?.weight ?? 100, group_rev: group?.rev ?? 0 },
  });
}

function tenantFields(tenant: TenantRow): Record<string, unknown> {
  return {
    ...tenant,
    active_from_ms: tenant.active_from?.getTime() ?? null,
    active_until_ms: tenant.active_until?.getTime() ?? null,
    capture_until_ms: tenant.capture_until?.getTime() ?? null,
    budget: budgetOf(tenant),
    end_user_budget: budgetOf({
      budget_tokens: tenant.end_user_budget_tokens,
      budget_cost_usd: tenant.end_user_budget_cost_usd,
      budget_period: tenant.end_user_budget_period,
      budget_started_at: tenant.budget_started_at,
    }),
  };
}

/** The budget of a tenant's or key's row. */
export function budgetOf(
  row: Pick<TenantRow, "budget_tokens" | "budget_cost_usd" | "budget_period" | "budget_started_at">,
): Record<string, unknown> {
  return {
    tokens: row.budget_tokens,
    cost_usd: row.budget_cost_usd,
    period: row.budget_period,
    started_at_ms: row.budget_started_at?.getTime() ?? null,
  };
}
