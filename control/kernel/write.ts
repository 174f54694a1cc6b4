/**
 * The fixed skeleton of every write (decisions §2.6): one transaction with the change, its audit entry and its outbox
 * rows; then the publisher, waited for up to a second. What the database refuses becomes an error of the table.
 */
import { eq, inArray, or, sql } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import type { RevItem } from "../../shared/internal.ts";
import { storeKeys } from "../../shared/records.ts";
import type { Transaction } from "../db/connect.ts";
import { auditLog, outbox } from "../db/schema/journal.ts";
import { apiKeys, fairshareGroups, tenants } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "./context.ts";

/**
 * Held from drawing a revision to its commit. Revisions so commit in their order: were the older of two to commit last, no
 * cell would take its item for news, and each would call its copy stale.
 */
const WRITE_LOCK = 727275;

/** Outbox rows; a smaller write is published before anybody else looks. */
const LARGE_WRITE = 500;

interface AuditDraft {
  readonly action: string;
  readonly entityType:
    | "tenant"
    | "api_key"
    | "model"
    | "model_endpoint"
    | "fairshare_group"
    | "mcp_server"
    | "settings"
    | "usage"
    | "gateway";
  readonly entityId: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** What a change leaves behind besides its rows. */
export class WriteJournal {
  readonly audits: AuditDraft[] = [];
  readonly hot: { readonly hotKey: string; readonly item: RevItem | null }[] = [];
  /** Tenants whose every key copy is to be written anew. */
  readonly tenantsOfKeys: string[] = [];
  /** Fairshare groups whose tenants' every key copy is to be written anew. */
  readonly groupsOfKeys: string[] = [];
  /** The write is of so many records that everything read before it is outdated at once. */
  outdatesAll = false;
  /** A health check is due at once. */
  checkIsDue = false;
  /** The revision of this write. */
  readonly rev: number;

  constructor(rev: number) {
    this.rev = rev;
  }

  audit(entry: AuditDraft): void {
    this.audits.push(entry);
  }

  /** The copy of one key has changed or is gone. */
  keyChanged(keyHash: string): void {
    this.hot.push({ hotKey: storeKeys.key(keyHash), item: { kind: "key", id: keyHash, rev: this.rev } });
  }

  /** The copy of one key is to be written anew, though its row is as it was: cells would wait in vain for a newer one. */
  republishKey(keyHash: string): void {
    this.hot.push({ hotKey: storeKeys.key(keyHash), item: null });
  }

  modelChanged(modelName: string): void {
    this.hot.push({ hotKey: storeKeys.model(modelName), item: { kind: "model", id: modelName, rev: this.rev } });
  }

  /** The copy of an MCP server has changed or is gone. */
  mcpServerChanged(name: string): void {
    this.hot.push({ hotKey: storeKeys.mcp(name), item: { kind: "mcp", id: name, rev: this.rev } });
  }

  /** A setting that the cells know has changed (decisions §32.1). */
  settingChanged(name: string): void {
    this.hot.push({ hotKey: `settings:${name}`, item: { kind: "settings", id: name, rev: this.rev } });
  }

  /** A tenant has changed: one item covers all its keys, whose copies are all written anew. */
  tenantChanged(tenantId: string): void {
    this.tenantsOfKeys.push(tenantId);
    this.hot.push({ hotKey: "", item: { kind: "tenant", id: tenantId, rev: this.rev } });
  }

  /** The key copies of a tenant that is about to be removed. */
  keysRemoved(keyHashes: readonly string[]): void {
    for (const hash of keyHashes) this.keyChanged(hash);
  }

  /** A group has changed: one item covers all keys of its tenants, whose copies are all written anew. */
  groupChanged(name: string): void {
    this.groupsOfKeys.push(name);
    this.hot.push({ hotKey: "", item: { kind: "group", id: name, rev: this.rev } });
  }

  /**
   * Every key copy is written anew of which a key, tenant or group carries this write's revision, and everything that was
   * read before is outdated; groups and tenants named here are told to the schedulers besides.
   */
  everythingChanged(groups: readonly string[], tenantIds: readonly string[]): void {
    this.outdatesAll = true;
    for (const id of groups) this.hot.push({ hotKey: "", item: { kind: "group", id, rev: this.rev } });
    for (const id of tenantIds) this.hot.push({ hotKey: "", item: { kind: "tenant", id, rev: this.rev } });
  }
}

/** Runs a change. Throws what the change throws, or 409 / 503 by what the database says. */
export async function write<T>(
  ctx: VerbContext,
  change: (tx: Transaction, journal: WriteJournal) => Promise<T>,
): Promise<Written<T>> {
  const { record, ids, checkIsDue } = await withDatabaseErrors(async () =>
    ctx.db.transaction(async (tx) => {
      await tx.execute(sql`SELECT pg_advisory_xact_lock(${WRITE_LOCK})`);
      const { rows } = (await tx.execute(sql`SELECT nextval('config_rev') AS rev`)) as unknown as {
        rows: { rev: string | number }[];
      };
      const journal = new WriteJournal(Number(rows[0]?.rev));
      const changed = await change(tx, journal);
      await saveAudits(tx, ctx.actor, journal);
      const saved = await saveOutbox(tx, journal);
      await ctx.beforeCommit?.(tx, changed);
      return { record: changed, ids: saved, checkIsDue: journal.checkIsDue };
    }),
  );
  if (checkIsDue) ctx.checkIsDue();
  return { record, sync: await ctx.publisher.publish(ids) };
}

/** Runs database work; a database that cannot be reached is 503 `database_unavailable`. */
export async function withDatabaseErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const code = databaseCode(error);
    if (code === null || code.startsWith("08") || code.startsWith("57") || /^E[A-Z]+$/.test(code)) {
      throw new GatewayError("database_unavailable", { cause: error });
    }
    throw error;
  }
}

/** True when the database refused a value that another row has already. */
export function isUniqueViolation(error: unknown): boolean {
  return databaseCode(error) === "23505";
}

/** True when a row refers to one that does not exist. */
export function isForeignKeyViolation(error: unknown): boolean {
  return databaseCode(error) === "23503";
}

/** SQLSTATE or errno of the innermost error, null for a lost connection. Outer messages quote the query: they tell nothing. */
function databaseCode(error: unknown): string | null {
  let innermost = error;
  while (innermost instanceof Error) {
    const { code } = innermost as { code?: unknown };
    if (typeof code === "string") return code;
    if (innermost.cause === undefined) break;
    innermost = innermost.cause;
  }
  if (innermost instanceof Event) return null; // what became of a WebSocket of the driver for Neon
  return innermost instanceof Error && /connect|terminat|closed/i.test(innermost.message) ? null : "";
}

async function saveAudits(tx: Transaction, actor: string, journal: WriteJournal): Promise<void> {
  if (journal.audits.length === 0) return;
  await tx.insert(auditLog).values(
    journal.audits.map((entry) => ({
      actor,
      action: entry.action,
      entity_type: entry.entityType,
      entity_id: entry.entityId,
      detail: entry.detail ?? {},
    })),
  );
}

/** Hot copies before the items that outdate them: a cell that hears of a change must find it in the store. */
async function saveOutbox(tx: Transaction, journal: WriteJournal): Promise<readonly number[]> {
  const ids: number[] = [];
  const chosen = [
    ...journal.tenantsOfKeys.map((id) => sql`${apiKeys.tenant_id} = ${id}::uuid`),
    ...journal.groupsOfKeys.map((name) =>
      inArray(apiKeys.tenant_id, tx.select({ id: tenants.id }).from(tenants).where(eq(tenants.fairshare_group, name))),
    ),
  ];
  if (journal.outdatesAll) {
    const groups = tx
      .select({ name: fairshareGroups.name })
      .from(fairshareGroups)
      .where(eq(fairshareGroups.rev, journal.rev));
    const ofTenants = tx
      .select({ id: tenants.id })
      .from(tenants)
      .where(or(eq(tenants.rev, journal.rev), inArray(tenants.fairshare_group, groups)));
    chosen.push(sql`(${apiKeys.rev} = ${journal.rev} OR ${inArray(apiKeys.tenant_id, ofTenants)})`);
    journal.hot.push({ hotKey: "", item: { kind: "all", id: "*", rev: journal.rev } });
  }
  for (const keys of chosen) {
    const saved = await tx
      .insert(outbox)
      .select(
        tx
          .select({
            id: sql<number>`nextval('outbox_id_seq')`.as("id"),
            hot_key: sql<string>`'key:' || ${apiKeys.key_hash}`.as("hot_key"),
            payload: sql`null::jsonb`.as("payload"),
            rev: sql<number>`${journal.rev}::bigint`.as("rev"),
            invalidation: sql<string>`'[]'`.as("invalidation"),
            attempts: sql<number>`0`.as("attempts"),
            next_attempt_at: sql<Date>`now()`.as("next_attempt_at"),
            done_at: sql`null::timestamptz`.as("done_at"),
            last_error: sql`null::text`.as("last_error"),
            created_at: sql<Date>`now()`.as("created_at"),
          })
          .from(apiKeys)
          .where(keys),
      )
      .returning({ id: outbox.id });
    ids.push(...saved.map((row) => row.id));
  }
  for (let at = 0; at < journal.hot.length; at += 1000) {
    const saved = await tx
      .insert(outbox)
      .values(
        journal.hot.slice(at, at + 1000).map(({ hotKey, item }) => ({
          hot_key: hotKey,
          rev: journal.rev,
          invalidation: JSON.stringify(item === null ? [] : [item]),
        })),
      )
      .returning({ id: outbox.id });
    ids.push(...saved.map((row) => row.id));
  }
  // else the outbox job would publish the rows of a large write a second time, beside the write itself
  if (ids.length > LARGE_WRITE)
    await tx
      .update(outbox)
      .set({ next_attempt_at: sql`now() + ${ids.length} * interval '5 milliseconds'` })
      .where(eq(outbox.rev, journal.rev));
  return ids;
}
