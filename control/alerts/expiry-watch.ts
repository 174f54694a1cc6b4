/**
 * Raises an alert when a tenant's access ends within 72 hours, once a day per tenant whatever the number of replicas
 * (docs/rules/tenants.md#expiry-alert, docs/rules/alerts.md#issues-and-texts). Tenants that are not active are left
 * out.
 */
import { createHash } from "node:crypto";
import { and, asc, eq, gt, lte } from "drizzle-orm";
import { issueOf } from "../../shared/alerts.ts";
import type { Database } from "../db/connect.ts";
import { tenants } from "../db/schema/tenancy.ts";
import { type AlertSink, raisedNow } from "../kernel/alert-sink.ts";
import type { HotStore } from "../kernel/hot-store/hot-store.ts";

const AHEAD_MS = 72 * 3_600_000;
const DAY_SECS = 86_400;

export class ExpiryWatch {
  readonly #db: Database;
  readonly #store: Pick<HotStore, "claim" | "put">;
  readonly #sink: AlertSink;
  readonly #cell: string;

  /** `cell`: the control service's own cell, which its alerts name. */
  constructor(db: Database, store: Pick<HotStore, "claim" | "put">, sink: AlertSink, cell: string) {
    this.#db = db;
    this.#store = store;
    this.#sink = sink;
    this.#cell = cell;
  }

  /**
   * Looks once; returns how many alerts were raised. Rejects when database, store or sink do not answer; an alert that was
   * not raised is raised the next time.
   */
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
    let raised = 0;
    for (const { id, name, until } of ending) {
      const detail = `${JSON.stringify(name)}: access ends at ${until?.toISOString() ?? ""}`;
      if (await this.#raiseOnceADay(issueOf("tenant_expiry", detail, `:${id}`), nowMs)) raised += 1;
    }
    return { told: raised };
  }

  /** Raises the alert unless it was raised today; returns whether it did. */
  async #raiseOnceADay(issue: ReturnType<typeof issueOf>, nowMs: number): Promise<boolean> {
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
