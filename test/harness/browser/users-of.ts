/** People of tenants in the console's tests, with models, keys and calls of their own. */
import { randomUUID } from "node:crypto";
import type { CreatedKey } from "../../../shared/schema/api-key.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import type { useConsole, Visit } from "./use-console.ts";

interface TenantUser {
  readonly visit: Visit;
  readonly tenant: Tenant;
  readonly model: string;
}

export function usersOf(fixture: ReturnType<typeof useConsole>) {
  /** A model that only this tenant may use. */
  async function modelOf(tenant: Tenant): Promise<string> {
    const name = `model-${randomUUID()}`;
    await fixture.gateway.must("POST", "/models", {
      model_name: name,
      upstream_model: "plain",
      api_base: fixture.upstream.url,
      input_cost_per_token: 0.000_001,
      context_window: 131_072,
      supports_vision: true,
    });
    await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/allowlist`, { allowed_models: [name] });
    return name;
  }
  async function userWithModel(): Promise<TenantUser> {
    const visit = await fixture.open({ as: "user" });
    if (visit.tenant === null) throw new Error("a user has a tenant");
    return { visit, tenant: visit.tenant, model: await modelOf(visit.tenant) };
  }
  const newKey = async ({ id }: Tenant, name: string): Promise<CreatedKey> =>
    await fixture.gateway.must<CreatedKey>("POST", `/tenants/${id}/keys`, { name });
  const call = async (secret: string, model: string): Promise<Response> =>
    await fetch(`${fixture.gateway.proxyUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
    });

  return { modelOf, userWithModel, newKey, call };
}
