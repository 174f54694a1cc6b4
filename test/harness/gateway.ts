/**
 * The gateway as a test uses it. Every test creates a tenant of its own, so that tests run beside each other in any order.
 */
import { randomUUID } from "node:crypto";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { FairshareLive } from "../../shared/schema/load.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { waitFor } from "./wait-for.ts";

/** No request of this process is older. A period of less than an hour is read by one query instead of three. */
const OLDEST_MS = Date.now() - 60_000;

interface Addresses {
  readonly proxyUrl: string;
  readonly adminUrl: string;
  readonly adminToken: string;
  /**
   * The address of metrics that show when a write has reached every cell. Without it, every write must be confirmed at
   * once.
   */
  readonly metricsUrl?: string;
}

export interface Minted {
  readonly tenant: Tenant;
  readonly key: CreatedKey["key"];
  readonly secret: string;
  readonly model: Model;
  /** A unique text for messages, by which a test finds the upstream's records. */
  readonly mark: string;
}

type ChatCaller = Pick<Minted, "secret" | "mark"> &
  Partial<Pick<Minted, "tenant" | "key">> & { readonly model: Pick<Model, "model_name"> };

interface ChatOptions {
  readonly stream?: boolean;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class Gateway {
  readonly #at: Addresses;

  constructor(at: Addresses) {
    this.#at = at;
  }

  get proxyUrl(): string {
    return this.#at.proxyUrl;
  }

  async admin(method: string, path: string, body?: unknown): Promise<Response> {
    return await fetch(`${this.#at.adminUrl}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#at.adminToken}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
  }

  /** A Management request that must succeed and be confirmed by every cell. */
  async must<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.admin(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    if (response.headers.has("x-gateway-sync")) await this.confirmed(`${method} ${path}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  }

  /**
   * Waits until everything that was written before has reached every cell: an answer to a write, also to one of a page, no longer
   * waits for a cell that takes more than a second. What others write meanwhile is not waited for.
   */
  async confirmed(write: string): Promise<void> {
    const { metricsUrl } = this.#at;
    const writtenMs = Date.now();
    if (metricsUrl === undefined) throw new Error(`${write} was not confirmed by every cell`);
    await waitFor(
      async () => {
        const readMs = Date.now();
        const text = await (await fetch(`${metricsUrl}/metrics`)).text();
        const shown = (name: string) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (.+)$`, "m").exec(text)?.[1]);
        const [pending, oldestSecs] = [shown("gateway_outbox_pending"), shown("gateway_outbox_oldest_seconds")];
        return { pending, oldestSecs, sinceSecs: (readMs - writtenMs) / 1000 };
      },
      ({ pending, oldestSecs, sinceSecs }) => pending === 0 || oldestSecs < sinceSecs,
    );
  }

  /** A tenant with a key, and a model whose upstream behaves as given. */
  async mint(upstreamUrl: string, behaviour = "plain", model: Readonly<Record<string, unknown>> = {}): Promise<Minted> {
    const mark = `mark-${randomUUID()}`;
    const tenant = await this.must<Tenant>("POST", "/tenants", { name: mark });
    const { key, secret } = await this.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, {
      name: `key of ${mark}`,
    });
    const record = await this.must<Model>("POST", "/models", {
      model_name: `model-${mark}`,
      upstream_model: behaviour,
      api_base: upstreamUrl,
      input_cost_per_token: 0.001,
      output_cost_per_token: 0.01,
      ...model,
    });
    return { tenant, key, secret, model: record, mark };
  }

  async chat(minted: ChatCaller, options: ChatOptions = {}): Promise<Response> {
    return await fetch(`${this.#at.proxyUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json", ...options.headers },
      body: JSON.stringify({
        model: minted.model.model_name,
        messages: [{ role: "user", content: `hello ${minted.mark}` }],
        ...(options.stream === undefined ? {} : { stream: options.stream }),
        ...options.body,
      }),
      signal: options.signal ?? null,
    });
  }

  /** The ledger's rows of a tenant, newest first. */
  async rows(tenantId: string, query = ""): Promise<readonly UsageLog[]> {
    const path = `/usage/logs?tenant_id=${tenantId}&since_ms=${OLDEST_MS}&limit=200${query}`;
    return await this.must<readonly UsageLog[]>("GET", path);
  }

  /** The row of a request, once it has arrived. */
  async row(tenantId: string, requestId: string | null): Promise<UsageLog> {
    const rows = await waitFor(
      async () => await this.rows(tenantId, `&request_id=${requestId ?? ""}`),
      (found) => found.length > 0,
    );
    if (rows.length > 1) throw new Error(`request ${requestId} has ${rows.length} rows`);
    return rows[0] as UsageLog;
  }

  /** The request ids of all rows of a tenant, newest first. An id that is stored twice appears twice. */
  async requestIds(tenantId: string): Promise<readonly string[]> {
    return (await this.allRows(tenantId)).map((row) => row.request_id);
  }

  async allRows(tenantId: string): Promise<readonly UsageLog[]> {
    const seen: UsageLog[] = [];
    let cursor = "";
    for (;;) {
      const page = await this.rows(tenantId, cursor);
      seen.push(...page);
      const last = page.at(-1);
      if (page.length < 200 || last === undefined) return seen;
      cursor = `&before_ms=${last.ts_ms}&before_request_id=${last.request_id}`;
    }
  }

  /** How many requests of a tenant the ledger has: the number of different request ids, and of all rows. */
  async countRows(tenantId: string): Promise<{ readonly rows: number; readonly requests: number }> {
    const seen = await this.requestIds(tenantId);
    return { rows: seen.length, requests: new Set(seen).size };
  }

  async stats(): Promise<{ readonly in_flight: number; readonly queued: number }> {
    return await this.must("GET", "/stats?cell=local");
  }

  /** How many requests for a model hold a slot and how many wait: those of one test, whatever other tests do. */
  async loadOf(modelName: string): Promise<{ readonly inFlight: number; readonly queued: number }> {
    const live = await this.must<FairshareLive>("GET", "/fairshare/live");
    return { inFlight: live.model_in_flight[modelName] ?? 0, queued: live.model_queued[modelName] ?? 0 };
  }
}
