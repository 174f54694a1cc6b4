/**
 * Which failures of upstreams become an alert (docs/rules/alerts.md#failures-of-upstreams). They are counted in the database, in
 * the transaction that takes them: for all cells and replicas together, each exactly once.
 */
import { and, asc, between, eq, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import type { Database, Transaction } from "../db/connect.ts";
import { type RaisedAlert, raisedNow } from "../kernel/alert-sink.ts";
import { alertFailures } from "./tables.ts";

const MINUTE_MS = 60_000;
/** A row of the analytics store is there so long after its request. */
const STORED_WITHIN_MS = 30_000;
/** Failures that a cell reports later than this are evaluated without earlier ones. */
const KEPT_MS = 15 * MINUTE_MS;
/** The alerts that are raised by rate: each is about a model, which its key names after the colon. */
const BY_RATE = /^upstream_(?:request_failed|5xx_response|stream_error):/;
/** One failure alone is not a rate. */
const LEAST = 2;

/** From when on failures are an alert. */
export interface FailureRule {
  /** So many within any minute. */
  readonly perMinute: number;
  /** Such a part of the model's requests of a minute, in percent; 0: never. */
  readonly percent: number;
}

type FailureRow = typeof alertFailures.$inferSelect;

interface Failure {
  readonly atMs: number;
  readonly times: number;
}

/** The failures that are among `perMinute` or more within a minute, by their places. `failures`: the oldest first. */
export function amongMany(failures: readonly Failure[], perMinute: number): readonly number[] {
  const many: number[] = [];
  let from = 0;
  let times = 0;
  for (const [at, failure] of failures.entries()) {
    times += failure.times;
    for (let first = failures[from]; first !== undefined && failure.atMs - first.atMs >= MINUTE_MS; ) {
      times -= first.times;
      from += 1;
      first = failures[from];
    }
    if (times < perMinute) continue;
    for (let place = Math.max(from, (many.at(-1) ?? -1) + 1); place <= at; place += 1) many.push(place);
  }
  return many;
}

/** The failures of an issue within a minute of the clock, up to the one with the number `through`. */
interface FailingMinute {
  readonly issueKey: string;
  readonly minute: number;
  readonly through: number;
}

export class FailureRates {
  readonly #db: Database;
  readonly #rule: FailureRule;
  readonly #requestsOf: (model: string, fromMs: number, untilMs: number) => Promise<number>;

  /** `requestsOf`: the requests of a model that were sent upstream and ended within a time. Rejects when it is not known. */
  constructor(
    db: Database,
    rule: FailureRule,
    requestsOf: (model: string, fromMs: number, untilMs: number) => Promise<number>,
  ) {
    this.#db = db;
    this.#rule = rule;
    this.#requestsOf = requestsOf;
  }

  /**
   * The alert that is raised by this one: itself, or with a failure of an upstream all failures that are many together with it and
   * are in no alert yet; null: they are not many.
   */
  async raisedBy(tx: Transaction, alert: RaisedAlert, nowMs: number): Promise<RaisedAlert | null> {
    const { issueKey, title, detail, cell, count } = alert;
    if (!BY_RATE.test(issueKey)) return alert;
    const atMs = Math.min(alert.atMs, nowMs);
    await tx.insert(alertFailures).values({ issue_key: issueKey, title, detail, cell, at_ms: atMs, times: count });
    const near = between(alertFailures.at_ms, atMs - MINUTE_MS, atMs + MINUTE_MS);
    const rows = await tx
      .select({ id: alertFailures.id, atMs: alertFailures.at_ms, times: alertFailures.times })
      .from(alertFailures)
      .where(and(eq(alertFailures.issue_key, issueKey), near))
      .orderBy(asc(alertFailures.at_ms));
    const many = amongMany(rows, this.#rule.perMinute).flatMap((place) => rows[place]?.id ?? []);
    const raised = await markRaised(tx, inArray(alertFailures.id, many));
    return raised.length === 0 ? null : { ...alert, count: timesOf(raised) };
  }

  /**
   * The minutes in which failures were a large part of a model's requests, of those that were not evaluated yet. Rejects when the
   * requests of a model are not known.
   */
  async failingMinutes(nowMs: number): Promise<readonly FailingMinute[]> {
    await this.#db.delete(alertFailures).where(lt(alertFailures.at_ms, nowMs - KEPT_MS));
    if (this.#rule.percent === 0) return [];
    const ended = lt(alertFailures.at_ms, Math.floor((nowMs - STORED_WITHIN_MS) / MINUTE_MS) * MINUTE_MS);
    const minutes = await this.#db
      .select({
        issueKey: alertFailures.issue_key,
        minute: minuteOf.mapWith(Number),
        times: sql`sum(${alertFailures.times})`.mapWith(Number),
        through: sql`max(${alertFailures.id})`.mapWith(Number),
      })
      .from(alertFailures)
      .where(ended)
      .groupBy(alertFailures.issue_key, minuteOf)
      .having(sql`NOT bool_and(${alertFailures.evaluated})`);
    const failing: FailingMinute[] = [];
    for (const { times, ...found } of minutes) {
      if (times >= LEAST && times * 100 >= (await this.#requestsIn(found)) * this.#rule.percent) failing.push(found);
      else await this.#db.update(alertFailures).set({ evaluated: true }).where(ofMinute(found));
    }
    return failing;
  }

  /** The failures of a minute that are in no alert yet, as one; null: all are in one. */
  async raisedIn(tx: Transaction, found: FailingMinute): Promise<RaisedAlert | null> {
    const raised = await markRaised(tx, ofMinute(found));
    await tx.update(alertFailures).set({ evaluated: true }).where(ofMinute(found));
    const last = raised.toSorted((a, b) => a.at_ms - b.at_ms).at(-1);
    if (last === undefined) return null;
    const issue = { issueKey: found.issueKey, title: last.title, detail: last.detail };
    return { ...raisedNow(issue, last.at_ms, last.cell), count: timesOf(raised) };
  }

  async #requestsIn({ issueKey, minute }: FailingMinute): Promise<number> {
    const model = issueKey.slice(issueKey.indexOf(":") + 1);
    return await this.#requestsOf(model, minute * MINUTE_MS, (minute + 1) * MINUTE_MS);
  }
}

/** Which minute of the clock a failure was in, since 1970. */
const minuteOf = sql<number>`${alertFailures.at_ms} / ${sql.raw(String(MINUTE_MS))}`;

function ofMinute({ issueKey, minute, through }: FailingMinute): SQL | undefined {
  return and(eq(alertFailures.issue_key, issueKey), eq(minuteOf, minute), lte(alertFailures.id, through));
}

/** Counts failures into an alert; returns those that were in none. */
async function markRaised(tx: Transaction, which: SQL | undefined): Promise<readonly FailureRow[]> {
  return await tx
    .update(alertFailures)
    .set({ raised: true })
    .where(and(eq(alertFailures.raised, false), which))
    .returning();
}

const timesOf = (rows: readonly FailureRow[]): number => rows.reduce((sum, row) => sum + row.times, 0);
