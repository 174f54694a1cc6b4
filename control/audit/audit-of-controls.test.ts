/** @module-tag check */
import { asc } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { auditLog } from "../db/schema/journal.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

async function send<T>(method: string, path: string, body: unknown): Promise<T> {
  return (await (await control.request(method, path, body)).json()) as T;
}

it("every live control leaves its action, its entity and what changed", async () => {
  const tenant = await send<Tenant>("POST", "/api/v1/tenants", { name: "t" });
  const { key } = await send<CreatedKey>("POST", `/api/v1/tenants/${tenant.id}/keys`, { name: "k" });
  const model = await send<Model>("POST", "/api/v1/models", { model_name: "m" });
  const begun = await control.connection.db.$count(auditLog);
  await send("POST", "/api/v1/fairshare/groups", { name: "g", weight: 5 });
  const changes = [
    ["PATCH", "fairshare/groups/g/weight", { weight: 6 }],
    ["PATCH", `tenants/${tenant.id}/weight`, { weight: 6 }],
    ["PUT", `tenants/${tenant.id}/quota`, { tokens_per_minute: 9 }],
    ["PATCH", `tenants/${tenant.id}/group`, { fairshare_group: "g" }],
    ["PATCH", `tenants/${tenant.id}/budget`, { budget_tokens: 1, budget_started_at: "2026-01-01T00:00:00Z" }],
    ["PATCH", `tenants/${tenant.id}/schedule`, { active_until: "2030-01-01T00:00:00Z" }],
    ["PATCH", `tenants/${tenant.id}/allowlist`, { allowed_models: ["m"] }],
    ["PUT", `keys/${key.id}`, { name: "other", expires_at: "2030-01-01T01:00:00+01:00", allowed_models: [" m "] }],
    ["POST", `keys/${key.id}/rotate`, {}],
    ["PUT", `models/${model.id}/capacity`, { max_in_flight: 3 }],
    ["PUT", `models/${model.id}/capacity-mode`, { capacity_mode: "tuned" }],
    ["PUT", `models/${model.id}/weight`, { admission_weight: 50 }],
  ] as const;
  for (const [method, path, body] of changes) await send(method, `/api/v1/${path}`, body);
  const entries = await control.connection.db.select().from(auditLog).orderBy(asc(auditLog.id)).offset(begun);
  expect(entries.map((entry) => [entry.action, entry.entity_type, entry.entity_id, entry.detail])).toEqual([
    ["create_fairshare_group", "fairshare_group", "g", { weight: 5 }],
    ["update_fairshare_group_weight", "fairshare_group", "g", { changed: { weight: [5, 6] } }],
    ["update_weight", "tenant", tenant.id, { changed: { weight: [100, 6] } }],
    ["update_quota", "tenant", tenant.id, { changed: { tokens_per_minute: [0, 9] } }],
    ["update_tenant_group", "tenant", tenant.id, { changed: { fairshare_group: ["default", "g"] } }],
    [
      "set_tenant_budget",
      "tenant",
      tenant.id,
      { changed: { budget_tokens: [null, 1], budget_started_at: [null, "2026-01-01T00:00:00.000Z"] } },
    ],
    ["set_tenant_schedule", "tenant", tenant.id, { changed: { active_until: [null, "2030-01-01T00:00:00.000Z"] } }],
    ["set_tenant_allowlist", "tenant", tenant.id, { changed: { allowed_models: [null, ["m"]] } }],
    [
      "update_key",
      "api_key",
      key.id,
      {
        changed: {
          name: ["k", "other"],
          expires_at: [null, "2030-01-01T00:00:00.000Z"],
          allowed_models: [null, ["m"]],
          admin_limits: [{}, { expires_at: "2030-01-01T00:00:00.000Z", allowed_models: ["m"] }],
        },
      },
    ],
    [
      "rotate_key",
      "api_key",
      key.id,
      {
        grace_secs: 0,
        previous_secret_until: null,
        changed: { key_prefix: [key.key_prefix, expect.not.stringContaining(key.key_prefix)] },
      },
    ],
    ["set_model_capacity", "model", model.id, { changed: { max_in_flight: [null, 3] } }],
    ["set_model_capacity_mode", "model", model.id, { changed: { capacity_mode: ["static", "tuned"] } }],
    ["set_model_weight", "model", model.id, { changed: { admission_weight: [100, 50] } }],
  ]);
});
