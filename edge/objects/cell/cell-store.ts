/**
 * The data that a Cell keeps on disk: recent revisions, the capacity override, the isolates that have requests, the rows of
 * requests that were given up, the number of its life and its last hour. It is written when configuration changes, when load
 * starts and stops, when the Cell starts, when requests are lost, and at intervals under load, but not for requests that end
 * normally (docs/rules/admission.md#what-the-cell-stores).
 */
import * as z from "zod";
import { CAPACITY_REASONS } from "../../../shared/fields/model-fields.ts";
import { usageRowSchema, zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { INVALIDATION_KINDS, type RevItem } from "../../../shared/wire/internal.ts";
import type { KnownCapacity } from "../../domain/adaptive/adaptive-capacities.ts";
import type { GivenUpRow, GivenUpRowStore } from "../../domain/admission/given-up-rows.ts";
import { lifeAfter } from "../../domain/budget/cell-life.ts";
import type { HistoryDisk, HistoryMinute } from "../../domain/cell/history.ts";

const busyMembersSchema = z.array(z.string());
/**
 * The first release did not record which isolates had requests. No isolate has this name, so waiting for it ends without a
 * report.
 */
const UNNAMED: readonly string[] = [""];

const loadSchema = { in_flight: z.number(), queued: z.number() };
const samplesSchema = z.array(
  z.object({
    ts_ms: z.number(),
    max_in_flight: z.number(),
    global_in_flight: z.number(),
    global_queued: z.number(),
    groups: z.array(z.object({ name: z.string(), ...loadSchema })),
    tenants: z.array(z.object({ tenant_id: z.string(), name: z.string(), ...loadSchema })),
    // Samples of earlier releases have none.
    adaptive: z
      .array(z.object({ model: z.string(), capacity: z.number(), reason: z.enum(CAPACITY_REASONS) }))
      .default([]),
  }),
);
const adaptiveSchema = z.array(
  z.object({
    model: z.string(),
    stated: z.number().nullable(),
    changes: z.array(
      z.object({ ts_ms: z.number(), from: z.number(), to: z.number(), reason: z.enum(CAPACITY_REASONS) }),
    ),
  }),
);
const lastSeenSchema = { name: z.string(), weight: z.number(), lastActiveMs: z.number() };
const minuteSchema = z.object({
  minute: z.number(),
  samples: samplesSchema,
  recent: z.object({
    tenants: z.array(
      z.object({
        ...lastSeenSchema,
        tenantId: z.string(),
        fairshareGroup: z.string(),
        maxInFlight: z.number().nullable(),
      }),
    ),
    groups: z.array(z.object({ ...lastSeenSchema, slotCap: z.number() })),
  }),
});

/**
 * Minutes that have a row: one hour, and the minute under way. Each minute overwrites the row of the minute 61 minutes
 * before it, so that nothing is deleted.
 */
const MINUTES_KEPT = 61;
/** The platform takes 2 MB in a row. */
const MINUTE_MAX_BYTES = 1_900_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS revisions (kind TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, seen_at INTEGER NOT NULL, PRIMARY KEY (kind, id));
  CREATE TABLE IF NOT EXISTS history (slot INTEGER PRIMARY KEY, minute INTEGER NOT NULL, told TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS given_up_rows (request_id TEXT PRIMARY KEY, due_at INTEGER NOT NULL, row TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
`;

interface StoredRevision {
  readonly item: RevItem;
  readonly seenMs: number;
}

export class CellStore implements HistoryDisk, GivenUpRowStore {
  readonly #storage: DurableObjectStorage;
  #busy: ReadonlySet<string>;
  readonly #givenUp: Set<string>;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.sql.exec(SCHEMA);
    this.#busy = new Set(busyMembersIn(this.#read("busy")));
    const lost = storage.sql.exec<{ request_id: string }>("SELECT request_id FROM given_up_rows").toArray();
    this.#givenUp = new Set(lost.map(({ request_id: requestId }) => requestId));
  }

  loadRevisions(): readonly StoredRevision[] {
    return this.#storage.sql
      .exec<{ kind: string; id: string; rev: number; seen_at: number }>("SELECT kind, id, rev, seen_at FROM revisions")
      .toArray()
      .flatMap((entry) => {
        const kind = INVALIDATION_KINDS.find((name) => name === entry.kind);
        return kind === undefined ? [] : [{ item: { kind, id: entry.id, rev: entry.rev }, seenMs: entry.seen_at }];
      });
  }

  saveRevisions(items: readonly RevItem[], nowMs: number): void {
    this.#storage.transactionSync(() => {
      for (const item of items) {
        this.#storage.sql.exec(
          "INSERT INTO revisions (kind, id, rev, seen_at) VALUES (?, ?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET rev = excluded.rev, seen_at = excluded.seen_at",
          item.kind,
          item.kind === "all" ? "*" : item.id,
          item.rev,
          nowMs,
        );
      }
    });
  }

  pruneRevisions(beforeMs: number): void {
    this.#storage.sql.exec("DELETE FROM revisions WHERE seen_at < ?", beforeMs);
  }

  /** The capacity set by an admin, null when the configured one applies. */
  get capacity(): number | null {
    const value = this.#read("capacity");
    return value === null ? null : Number(value);
  }

  set capacity(value: number | null) {
    this.#write("capacity", value === null ? null : String(value));
  }

  /** The stored capacities; unreadable ones are found again. */
  get adaptive(): readonly KnownCapacity[] {
    const stored = adaptiveSchema.safeParse(JSON.parse(this.#read("adaptive") ?? "[]"));
    return stored.success ? stored.data : [];
  }

  set adaptive(known: readonly KnownCapacity[]) {
    this.#write("adaptive", known.length === 0 ? null : JSON.stringify(known));
  }

  /**
   * Counts a new life of this Cell: the number is larger than every earlier one, whatever the clocks show
   * (docs/rules/budgets.md#lives-of-a-cell). One row, written once.
   */
  nextLife(): number {
    const life = lifeAfter(this.#read("life"));
    this.#write("life", String(life));
    return life;
  }

  /** The isolates that have requests: a Cell that starts with some was reset under load. Written only when they change. */
  get busyMembers(): ReadonlySet<string> {
    return this.#busy;
  }

  set busyMembers(members: ReadonlySet<string>) {
    if (members.size === this.#busy.size && [...members].every((member) => this.#busy.has(member))) return;
    this.#write("busy", members.size === 0 ? null : JSON.stringify([...members]));
    this.#busy = members;
  }

  /** The rows of requests that an earlier life gave up. One that cannot be read is deleted. */
  loadGivenUpRows(): readonly GivenUpRow[] {
    return this.#storage.sql
      .exec<{ request_id: string; due_at: number; row: string }>("SELECT request_id, due_at, row FROM given_up_rows")
      .toArray()
      .flatMap(({ request_id: requestId, due_at: dueMs, row: json }) => {
        const stored = storedRowIn(json);
        // An earlier release may have written it, without the columns of this one.
        const row = usageRowSchema.safeParse(stored && { ...zeroUsageRow(requestId, dueMs), ...stored });
        if (!row.success) this.forget(requestId);
        return row.success ? [{ row: row.data, dueMs }] : [];
      });
  }

  keep({ row, dueMs }: GivenUpRow): void {
    this.#storage.sql.exec(
      "INSERT OR REPLACE INTO given_up_rows (request_id, due_at, row) VALUES (?, ?, ?)",
      row.request_id,
      dueMs,
      JSON.stringify(row),
    );
    this.#givenUp.add(row.request_id);
  }

  has(requestId: string): boolean {
    return this.#givenUp.has(requestId);
  }

  forget(requestId: string): void {
    if (this.#givenUp.delete(requestId))
      this.#storage.sql.exec("DELETE FROM given_up_rows WHERE request_id = ?", requestId);
  }

  minutes(): readonly HistoryMinute[] {
    return this.#minutes("SELECT told FROM history ORDER BY minute");
  }

  lastMinute(): HistoryMinute | null {
    return this.#minutes("SELECT told FROM history ORDER BY minute DESC LIMIT 1")[0] ?? null;
  }

  /** Writes a minute. When it does not fit into a row, every second sample is left out until it fits. */
  write(minute: HistoryMinute): void {
    const json = JSON.stringify(minute);
    if (minute.samples.length > 1 && new TextEncoder().encode(json).length > MINUTE_MAX_BYTES) {
      this.write({ ...minute, samples: minute.samples.filter((_, at) => at % 2 === 0) });
      return;
    }
    const slot = minute.minute % MINUTES_KEPT;
    this.#storage.sql.exec(
      "INSERT OR REPLACE INTO history (slot, minute, told) VALUES (?, ?, ?)",
      slot,
      minute.minute,
      json,
    );
  }

  #minutes(query: string): readonly HistoryMinute[] {
    return this.#storage.sql
      .exec<{ told: string }>(query)
      .toArray()
      .flatMap(({ told: json }) => {
        const minute = minuteSchema.safeParse(JSON.parse(json));
        return minute.success ? [minute.data] : [];
      });
  }

  #read(name: string): string | null {
    return (
      this.#storage.sql.exec<{ value: string }>("SELECT value FROM meta WHERE name = ?", name).toArray()[0]?.value ??
      null
    );
  }

  #write(name: string, value: string | null): void {
    if (value === null) this.#storage.sql.exec("DELETE FROM meta WHERE name = ?", name);
    else
      this.#storage.sql.exec(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
      );
  }
}

/** The row in a text; null if it is damaged, which must not keep the Cell from starting. */
function storedRowIn(json: string): object | null {
  try {
    const row: unknown = JSON.parse(json);
    return typeof row === "object" ? row : null;
  } catch {
    return null;
  }
}

function busyMembersIn(text: string | null): readonly string[] {
  if (text === null) return [];
  const members = busyMembersSchema.safeParse(JSON.parse(text));
  return members.success ? members.data : UNNAMED;
}
