/**
 * Keys with which the console calls models for people who have pasted none (docs/rules/console.md#relay): one for each person and
 * tenant. Secrets stay in this process.
 */
import { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import { type HeldKey, RenewedKey } from "../kernel/renewed-key.ts";
import type { ConsolePerson } from "../users/person.ts";
import { DashboardError } from "./dashboard-error.ts";
import { personHeaders } from "./live/live.ts";

/** Of the hour that a key is valid. */
const RENEWED_BEFORE_MS = 300_000;
const PLACE = "http://management.invalid";
/** Names the tenant that a person calls as, in a request without a key. */
const TENANT_HEADER = "x-gateway-tenant";
const TENANT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const createdKeySchema = z.object({ secret: z.string(), key: z.object({ expires_at: z.string() }) });

interface ConsoleKeysOptions {
  readonly adminToken: string;
  /** The Management API. */
  readonly management: (request: Request) => Promise<Response>;
  readonly nowMs: () => number;
}

/** A key that a call can use; `forget`: the data plane did not take it. */
interface UsableKey {
  readonly secret: string;
  readonly forget: () => Promise<void>;
}

export class ConsoleKeys {
  readonly #options: ConsoleKeysOptions;
  readonly #held = new Map<string, RenewedKey>();

  constructor(options: ConsoleKeysOptions) {
    this.#options = options;
  }

  /** The key of a person who may call as this tenant. Throws DashboardError 503, GatewayError 404 for an unknown tenant. */
  async keyOf(user: ConsolePerson, address: string | null, tenantId: string): Promise<UsableKey> {
    const name = `${user.id} ${tenantId}`;
    let held = this.#held.get(name);
    if (held === undefined) {
      held = new RenewedKey({
        renewedBeforeMs: RENEWED_BEFORE_MS,
        nowMs: this.#options.nowMs,
      });
      this.#held.set(name, held);
    }
    const own = held;
    // Who calls now is named: the email may have been given to somebody else since the first call.
    const key = await own.current(async () => await this.#make(tenantId, personHeaders(user, address)));
    return { secret: key.secret, forget: async () => await own.forget(key) };
  }

  async #make(tenantId: string, person: Readonly<Record<string, string>>): Promise<HeldKey> {
    const { management, adminToken } = this.#options;
    const headers = { ...person, authorization: `Bearer ${adminToken}` };
    const url = `${PLACE}/api/v1/tenants/${tenantId}/console-key`;
    const response = await management(new Request(url, { method: "POST", headers }));
    if (response.status === 404) throw new GatewayError("not_found");
    const made = createdKeySchema.safeParse(await response.json().catch(() => null));
    if (!made.success) throw new DashboardError("management_unavailable", { "retry-after": "1" });
    return { secret: made.data.secret, expiresAtMs: Date.parse(made.data.key.expires_at) };
  }
}

/**
 * The tenant as which a request calls, an admin as any, a user as the own one; null: with a key that the person has pasted.
 * Throws DashboardError 403, GatewayError 404 for somebody else's tenant.
 */
export function tenantOfCall({ role, tenant_id }: ConsolePerson, { headers }: Request): string | null {
  if (headers.has("authorization")) return null;
  const asked = headers.get(TENANT_HEADER);
  if (role === "admin" && asked !== null && TENANT_ID.test(asked)) return asked;
  if (role === "user" && tenant_id !== null && (asked === null || asked === tenant_id)) return tenant_id;
  if (role === "admin" || role === "user") throw new GatewayError("not_found");
  throw new DashboardError("forbidden");
}
