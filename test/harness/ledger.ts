/**
 * A ledger for tests: the real engine behind the real bridge, in a folder of its own, emptied before every test.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@clickhouse/client-web";
import { type Logger, pino } from "pino";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { AnalyticsStore } from "../../control/usage/analytics/store.ts";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { openEngine } from "../../infra/local/clickhouse/engine.ts";
import { columnTime, storedRow, type UsageRow, zeroUsageRow } from "../../shared/usage/usage-row.ts";

const DB = "usage_test";
const credentials = { user: "default", password: "secret" };

export const TENANT = "11111111-1111-4111-8111-111111111111";
export const KEY = "22222222-2222-4222-8222-222222222222";

interface TestSpan {
  readonly request_id: string;
  readonly span_name: string;
  readonly parent_span?: string;
  readonly start_ms: number;
  readonly duration_ms?: number;
  readonly attributes?: string;
}

/** One ledger; its parts are there once tests run. */
export class TestLedger {
  readonly db = DB;
  readonly log: Logger = pino({ level: "silent" });
  #parts: { store: AnalyticsStore; client: ReturnType<typeof createClient>; url: string } | undefined;

  use(): void {
    let stop: (() => Promise<void>) | undefined;
    beforeAll(async () => {
      const folder = mkdtempSync(join(tmpdir(), "analytics-"));
      const engine = openEngine(folder, 3);
      const bridge = await startClickhouseBridge({ engine, ...credentials, maxBodyBytes: 20_000_000 });
      const store = new AnalyticsStore({ url: bridge.url, db: DB, ...credentials }, this.log);
      const client = createClient({ url: bridge.url, username: credentials.user, password: credentials.password });
      this.#parts = { store, client, url: bridge.url };
      stop = async () => {
        await store.close();
        await client.close();
        await bridge.close();
        await engine.close();
        rmSync(folder, { recursive: true, force: true });
      };
      await store.migrate();
    });
    afterAll(async () => await stop?.());
    beforeEach(async () => {
      for (const table of ["usage_raw", "usage_daily", "usage_quarter", "spans"])
        await this.run(`TRUNCATE TABLE ${DB}.${table}`);
      await this.run(`ALTER TABLE ${DB}.usage_raw MODIFY COMMENT '1970-01-01'`);
    });
  }

  get store(): AnalyticsStore {
    return this.#at.store;
  }

  get place(): { readonly url: string; readonly db: string; readonly user: string; readonly password: string } {
    return { url: this.#at.url, db: DB, ...credentials };
  }

  another(): AnalyticsStore {
    return new AnalyticsStore({ url: this.#at.url, db: DB, ...credentials }, this.log);
  }

  absent(): AnalyticsStore {
    return new AnalyticsStore({ url: "http://127.0.0.1:9", db: DB, ...credentials }, this.log);
  }

  async run(statement: string): Promise<void> {
    await this.#at.client.command({ query: statement });
  }

  /** Sends rows as the Ledger object does; the same token again means the same batch. */
  async insert(rows: readonly UsageRow[], token: string = randomUUID()): Promise<void> {
    await this.#at.client.insert({
      table: `${DB}.usage_raw`,
      format: "JSONEachRow",
      values: rows.map(storedRow),
      clickhouse_settings: { insert_deduplication_token: token },
    });
  }

  async insertSpans(spans: readonly TestSpan[]): Promise<void> {
    await this.#at.client.insert({
      table: `${DB}.spans`,
      format: "JSONEachRow",
      values: spans.map(({ start_ms, ...rest }) => ({
        parent_span: "",
        duration_ms: 1,
        status: "ok",
        attributes: "{}",
        ...rest,
        start: columnTime(start_ms),
      })),
    });
  }

  get #at() {
    if (this.#parts === undefined) throw new Error("the ledger starts with the tests");
    return this.#parts;
  }
}

/** A served chat request of {@link TENANT} and {@link KEY}. */
export function ledgerRow(tsMs: number, change: Partial<UsageRow> = {}): UsageRow {
  return {
    ...zeroUsageRow(randomUUID(), tsMs),
    tenant_id: TENANT,
    key_id: KEY,
    model: "m",
    request_type: "chat",
    admission: "fast",
    status_code: 200,
    ...change,
  };
}
