/**
 * Says so when a tenant's access is about to end: within 72 hours before, once a day per tenant whatever the number of
 * replicas (decisions §3.6, §35). Tenants that are not served anyway are passed over.
 */
import { createHash } from "node:crypto";
import { and, asc, eq, gt, lte } from "drizzle-orm";
import { issueOf } from "../../shared/alerts.ts";
import type { Database } from "../db/connect.ts";
import { tenants } from "../db/schema/tenancy.ts";
import type { HotStore } from "../hot-store/hot-store.ts";
import { type AlertSink, raisedNow } from "./alert-sink.ts";

const AHEAD_MS = 72 * 3_600_000;
const DAY_SECS = 86_400;

export class ExpiryWatch {
  readonly #db: Database;
  readonly #store: Pick<HotStore, "claim" | "put">;
  readonly #sink: AlertSink;
  readonly #cell: string;

  /** `cell`: the control service's own, which its alerts carry. */
  constructor(db: Database, store: Pick<HotStore, "claim" | "put">, sink: AlertSink, cell: string) {
    this.#db = db;
    this.#store = store;
    this.#sink = sink;
    this.#cell = cell;
  }

  /** Looks once. Rejects when database, store or sink do not answer; who was not told of is told of next time. */
  async run(nowMs: number): Promise<{ readonly told: number }> {
    const ending = await this.#db
      .select({ id: tenants.id, name: tenants.name, until: tenants.active_until })
      .from(tenants)
      .where(
        and(
          eq(tenants.status, "active"),
          gt(tenants.active_until, new Date(nowMs)),
          lte(tenants.active_until, new Date(nowMs + AHEAD_MS)),
        ),
      )
      .orderBy(asc(tenants.active_until));
    let told = 0;
    for (const { id, name, until } of ending) {
      const detail = `${name}: access ends at ${until?.toISOString() ?? ""}`;
      if (await this.#tell(issueOf(`tenant_expiry:${id}`, "Tenant access ends soon", detail), nowMs)) told += 1;
    }
    return { told };
  }

  /** False when it was told today. */
  async #tell(issue: ReturnType<typeof issueOf>, nowMs: number): Promise<boolean> {
    const claimed = `alert:daily:${createHash("sha256").update(issue.issueKey).digest("hex")}`;
    if (!(await this.#store.claim(claimed, DAY_SECS))) return false;
    try {
      await this.#sink.take([raisedNow(issue, nowMs, this.#cell)]);
      return true;
    } catch (error) {
      await this.#store.put([{ hotKey: claimed, text: null }]).catch(() => undefined);
      throw error;
    }
  }
}
