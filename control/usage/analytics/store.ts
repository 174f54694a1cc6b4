/**
 * The analytics store as the control service uses it. Reads are parameterised queries, each with a deadline, and end with the
 * caller for whom they are made; the only rows it writes are those of its own health probes. A store that does not answer is 503
 * `analytics_unavailable`; the store's own error text is only logged.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClickHouseClient, ClickHouseError, createClient } from "@clickhouse/client-web";
import type { Logger } from "pino";
import { GatewayError } from "../../../shared/errors.ts";
import { storedRow, type UsageRow } from "../../../shared/usage/usage-row.ts";
import { StoreWatch } from "../../kernel/store-watch.ts";
import {
  firstKeptDay,
  keptFromStatement,
  MIGRATIONS,
  OLD_DAILY_VIEW,
  QUARTER_VIEWS,
  quartersFromText,
} from "./migrations.ts";

const REQUEST_TIMEOUT_MS = 30_000;
/** Between looks at a statement that was left. */
const LEFT_LOOK_MS = 100;
/** UNKNOWN_TABLE, UNKNOWN_DATABASE: the store was replaced by an empty one. */
const LOST_TABLES = new Set(["60", "81"]);

interface AnalyticsEnv {
  readonly url: string;
  readonly db: string;
  readonly user: string;
  readonly password: string;
}

export type QueryParams = Readonly<Record<string, string | number | boolean | readonly string[] | readonly number[]>>;

interface TableText {
  readonly comment: string;
  /** The query of a view. */
  readonly as_select: string;
}

/** What the stores of all callers have in common. */
interface Connection {
  readonly client: ClickHouseClient;
  readonly watch: StoreWatch;
  /** Where the rollup by quarters starts, epoch ms; null: the tables have not been looked at. */
  quartersFromMs: number | null;
}

interface Caller {
  readonly connection: Connection;
  readonly left: AbortSignal;
}

export class AnalyticsStore {
  readonly db: string;
  readonly #env: AnalyticsEnv;
  readonly #log: Logger;
  readonly #connection: Connection;
  readonly #left: AbortSignal | null;

  constructor(env: AnalyticsEnv, log: Logger, caller?: Caller) {
    this.db = env.db;
    this.#env = env;
    this.#log = log;
    this.#left = caller?.left ?? null;
    this.#connection = caller?.connection ?? {
      client: createClient({
        url: env.url,
        username: env.user,
        password: env.password,
        request_timeout: REQUEST_TIMEOUT_MS,
        clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
      }),
      watch: new StoreWatch("analytics", log),
      quartersFromMs: null,
    };
  }

  /** The same store for a caller; its reads end when the caller leaves. */
  until(left: AbortSignal): AnalyticsStore {
    return new AnalyticsStore(this.#env, this.#log, { connection: this.#connection, left });
  }

  /**
   * Creates the tables that are missing (docs/rules/storage-layouts.md#analytics-tables). Rejects when the store does
   * not answer.
   */
  async migrate(signal: AbortSignal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)): Promise<void> {
    if (this.#connection.quartersFromMs !== null) return;
    const isNew = (await this.#table("usage_raw", signal)) === null;
    const run = async (query: string): Promise<unknown> =>
      await this.#connection.client.command({ query, abort_signal: signal });
    const wanted = quartersFromText(isNew, Date.now());
    for (const { statement } of MIGRATIONS) await run(statement(this.db, wanted));
    const daily = (await this.#table("usage_daily_mv", signal))?.as_select ?? "";
    if (OLD_DAILY_VIEW.isOld(daily)) await run(OLD_DAILY_VIEW.statement(this.db));
    // another process may have made the table
    const quartersFrom = (await this.#table("usage_quarter", signal))?.comment ?? "";
    const startMs = Date.parse(`${quartersFrom.replace(" ", "T")}Z`);
    if (Number.isNaN(startMs)) throw new Error("the comment of usage_quarter is not the start of the rollup");
    for (const { statement } of QUARTER_VIEWS) await run(statement(this.db, quartersFrom));
    const marked = Date.parse((await this.#table("usage_raw", signal))?.comment ?? "");
    const [row] = await this.#select<{ day: string }>(firstKeptDay(this.db, Date.now()), {}, signal);
    const day = row?.day ?? "1970-01-01";
    if (!(Date.parse(day) <= marked)) await run(keptFromStatement(this.db, day));
    this.#connection.quartersFromMs = startMs;
  }

  /** Where the rollup by quarters starts, epoch ms: it has every row from then on. Throws 503 `analytics_unavailable`. */
  async quartersFromMs(): Promise<number> {
    try {
      await this.migrate();
    } catch (error) {
      throw this.#unavailable(error);
    }
    return this.#connection.quartersFromMs ?? 0;
  }

  /** What the store says of a table; null if there is none. */
  async #table(table: string, signal: AbortSignal): Promise<TableText | null> {
    const [row] = await this.#select<TableText>(
      "SELECT comment, as_select FROM system.tables WHERE database = {db:String} AND name = {table:String}",
      { db: this.db, table },
      signal,
    );
    return row ?? null;
  }

  async #select<T>(
    query: string,
    params: QueryParams,
    signal: AbortSignal,
    { id = randomUUID(), withinMs = REQUEST_TIMEOUT_MS }: { readonly id?: string; readonly withinMs?: number } = {},
  ): Promise<readonly T[]> {
    const found = await this.#connection.client.query({
      query,
      query_id: id,
      query_params: { ...params },
      format: "JSONEachRow",
      abort_signal: signal,
      clickhouse_settings: {
        // A read that was left must not continue. ClickHouse cancels only what it knows as a read.
        cancel_http_readonly_queries_on_client_close: 1,
        readonly: "2",
        max_execution_time: Math.ceil(withinMs / 1000),
      },
    });
    const rows = await found.json<T>();
    this.#connection.watch.answered();
    return rows;
  }

  /** Resolves when a statement that was left is no longer at work, as far as the store can say, or at the deadline. Never rejects. */
  async #ended(id: string, signal: AbortSignal): Promise<void> {
    const query = "SELECT 1 AS one FROM system.processes WHERE query_id = {id:String}";
    try {
      while ((await this.#select(query, { id }, signal)).length > 0) await sleep(LEFT_LOOK_MS, undefined, { signal });
    } catch (error) {
      this.#connection.watch.left(error);
    }
  }

  /**
   * The rows of a query. `withinMs`: the deadline, shorter when the caller can do without the rows. Throws 503
   * `analytics_unavailable`; to a caller that has left not before the statement has ended, so that who counts what is at
   * work counts it.
   */
  async rows<T>(query: string, params: QueryParams, withinMs: number = REQUEST_TIMEOUT_MS): Promise<readonly T[]> {
    const signal = AbortSignal.timeout(withinMs);
    const id = randomUUID();
    try {
      await this.migrate(signal);
      const until = this.#left === null ? signal : AbortSignal.any([signal, this.#left]);
      return await this.#select<T>(query, params, until, { id, withinMs });
    } catch (error) {
      if (this.#left?.aborted === true) {
        this.#connection.watch.left(error);
        await this.#ended(id, signal);
        throw new GatewayError("analytics_unavailable", { cause: error });
      }
      if (error instanceof ClickHouseError && LOST_TABLES.has(error.code)) this.#connection.quartersFromMs = null;
      throw this.#unavailable(signal.aborted ? new Error(`no answer within ${withinMs / 1000} s`) : error);
    }
  }

  /**
   * Adds rows to the ledger; rows sent again with the same token are not added twice. Throws 503 `analytics_unavailable`.
   */
  async insertUsage(rows: readonly UsageRow[], token: string): Promise<void> {
    try {
      await this.migrate();
      await this.#connection.client.insert({
        table: `${this.db}.usage_raw`,
        format: "JSONEachRow",
        values: rows.map(storedRow),
        clickhouse_settings: { insert_deduplication_token: token, input_format_skip_unknown_fields: 0 },
      });
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  #unavailable(error: unknown): GatewayError {
    this.#connection.watch.failed(error, error instanceof ClickHouseError ? error.code : "");
    return new GatewayError("analytics_unavailable", { cause: error });
  }

  /** Runs a statement that changes the store. Throws 503 `analytics_unavailable`. */
  async change(query: string, params: QueryParams = {}): Promise<void> {
    try {
      await this.#connection.client.command({ query, query_params: { ...params } });
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  /** Drops a day (YYYYMMDD) or a month (YYYYMM) of a table. Throws 503 `analytics_unavailable`. */
  async dropPartition(table: "usage_raw" | "spans" | "usage_quarter", partition: string): Promise<void> {
    if (!/^\d{6}(\d\d)?$/.test(partition)) throw new Error("a partition is a day or a month");
    await this.change(`ALTER TABLE ${this.db}.${table} DROP PARTITION ${partition}`);
  }

  async close(): Promise<void> {
    await this.#connection.client.close();
  }
}
