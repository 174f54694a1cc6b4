/** The data plane as the browser reaches it (docs/rules/console.md#relay). */
import { send } from "./api.ts";
import { errorOf } from "./api-error.ts";

/** Files and batches of a tenant. Throws ApiError for a refusal. */
export async function callAsTenant(tenantId: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("x-gateway-tenant", tenantId);
  const response = await send(new Request(new URL(`/api/relay/v1${path}`, location.origin), { ...init, headers }));
  if (!response.ok) throw errorOf(response, await response.json().catch(() => null));
  return response;
}
