/** What the pages of the portal read of the own tenant. Pages that read the same share it. */
import { useQuery } from "@tanstack/react-query";
import { isConsoleKey } from "../../../shared/access/console-key.ts";
import type { Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";

const EVERY_MS = 20_000;
const LOAD_EVERY_MS = 5000;
const MOST = "1000";

/** The tenant of the person who looks. */
export function useOwnTenant() {
  const { tenant_id: id } = useCurrentUser();
  return useQuery(
    read("/api/v1/tenants/{id}", { params: { path: { id: id ?? "" } } }, { everyMs: EVERY_MS, enabled: id !== null }),
  );
}

/** What the requests of a tenant do now. */
export function useOwnLoad(id: string) {
  return useQuery(read("/api/v1/tenants/{id}/load", { params: { path: { id } } }, { everyMs: LOAD_EVERY_MS }));
}

/** The models that the tenant may use: all of them (docs/rules/console.md#live). */
export const ownModelsRead = read("/api/v1/models", {}, { everyMs: EVERY_MS });

/** The keys of the tenant, without those that the console made for its own calls. */
export const ownKeysRead = {
  ...read("/api/v1/keys", { params: { query: { limit: MOST } } }, { everyMs: EVERY_MS }),
  select: (keys: readonly Records["ListedApiKey"][]) => keys.filter(({ id }) => !isConsoleKey(id)),
};
