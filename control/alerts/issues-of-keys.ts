/**
 * Keeps the number of issues about keys of one tenant small (docs/rules/alerts.md#many-issues-of-a-tenant): a person who
 * may make keys can make any number of them, one after another.
 */
import { and, desc, eq, gt, inArray, sql } from "drizzle-orm";
import { issueOf } from "../../shared/alerts.ts";
import type { Transaction } from "../db/connect.ts";
import { apiKeys, deletedNames, tenants } from "../db/schema/tenancy.ts";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { FIRING_MS } from "./alert-log.ts";
import { alertLog, alertMarks } from "./tables.ts";

/** So many keys of a tenant have their own issue, entry or message; further ones share one, with the first names. */
export const KEYS_LISTED_MAX = 3;

const ISSUE_OF_KEY = "^key_term_budget_(?:warn|exhausted):[0-9a-f-]{36}$";
const ofKey = /^(key_term_budget_(?:warn|exhausted)):([0-9a-f-]{36})$/;

interface KeyOf {
  readonly tenantId: string;
  readonly tenant: string;
  readonly name: string;
}

/** The alerts, those of one tenant's further keys as one. Within the transaction, which must hold the lock of lockAlerts. */
export async function gathered(
  tx: Transaction,
  alerts: readonly RaisedAlert[],
  nowMs: number,
): Promise<readonly RaisedAlert[]> {
  const ofKeys = alerts.filter(({ issueKey }) => ofKey.test(issueKey));
  if (ofKeys.length === 0) return alerts;
  const sinceMs = Math.min(nowMs, ...ofKeys.map(({ atMs }) => atMs)) - FIRING_MS;
  const firing = await firingSince(tx, sinceMs);
  const raised = ofKeys.map(({ issueKey }) => issueKey);
  const marked = await tx
    .select({ key: alertMarks.issue_key })
    .from(alertMarks)
    .where(inArray(alertMarks.issue_key, raised));
  const keys = await keysOf(tx, [...firing, ...raised]);
  const apart = new Map<string, Set<string>>();
  const apartIn = (issue: string): Set<string> => {
    const found = apart.get(issue) ?? new Set<string>();
    apart.set(issue, found);
    return found;
  };
  const groupOf = (issueKey: string): string | null => {
    const [, kind, id = ""] = ofKey.exec(issueKey) ?? [];
    const key = keys.get(id);
    return key === undefined ? null : `${kind}:tenant:${key.tenantId}`;
  };
  for (const issueKey of [...firing, ...marked.map(({ key }) => key)]) {
    const group = groupOf(issueKey);
    if (group !== null) apartIn(group).add(issueKey);
  }
  const told: RaisedAlert[] = [];
  const further = new Map<string, RaisedAlert[]>();
  for (const alert of alerts) {
    const group = groupOf(alert.issueKey);
    const known = group === null ? null : apartIn(group);
    if (group === null || known === null || known.has(alert.issueKey)) told.push(alert);
    else if (known.size < KEYS_LISTED_MAX) {
      known.add(alert.issueKey);
      told.push(alert);
    } else further.set(group, [...(further.get(group) ?? []), alert]);
  }
  for (const [group, those] of further) told.push(await asOne(tx, group, those, keys, sinceMs));
  return told;
}

async function firingSince(tx: Transaction, sinceMs: number): Promise<readonly string[]> {
  const rows = await tx
    .selectDistinct({ key: alertLog.issue_key })
    .from(alertLog)
    .where(and(gt(alertLog.last_at_ms, sinceMs), sql`${alertLog.issue_key} ~ ${ISSUE_OF_KEY}`));
  return rows.map(({ key }) => key);
}

/** The keys of these issues by id, also deleted ones. */
async function keysOf(tx: Transaction, issueKeys: readonly string[]): Promise<ReadonlyMap<string, KeyOf>> {
  const ids = issueKeys.map((issueKey) => ofKey.exec(issueKey)?.[2] ?? "");
  const found = new Map<string, KeyOf>();
  for (const table of [deletedNames, apiKeys]) {
    const rows = await tx
      .select({
        id: table.id,
        tenantId: table.tenant_id,
        tenant: tenants.name,
        name: table.name,
        prefix: table.key_prefix,
      })
      .from(table)
      .leftJoin(tenants, eq(tenants.id, table.tenant_id))
      .where(inArray(table.id, ids));
    for (const { id, tenantId, tenant, name, prefix } of rows)
      found.set(id, { tenantId, tenant: tenant ?? tenantId, name: name === "" ? prefix : name });
  }
  return found;
}

async function asOne(
  tx: Transaction,
  group: string,
  alerts: readonly RaisedAlert[],
  keys: ReadonlyMap<string, KeyOf>,
  sinceMs: number,
): Promise<RaisedAlert> {
  const [before] = await tx
    .select({ times: alertLog.firing_times })
    .from(alertLog)
    .where(and(eq(alertLog.issue_key, group), gt(alertLog.last_at_ms, sinceMs)))
    .orderBy(desc(alertLog.id))
    .limit(1);
  const count = alerts.reduce((sum, alert) => sum + alert.count, 0);
  const of = alerts.flatMap(({ issueKey }) => keys.get(ofKey.exec(issueKey)?.[2] ?? "") ?? []);
  const detail = `${JSON.stringify(of[0]?.tenant)}: ${(before?.times ?? 0) + count} alerts of further keys, the last of ${firstNames(of.map(({ name }) => name).toReversed())}`;
  const [, kind = ""] = /^(\w+):/.exec(group) ?? [];
  const last = alerts.at(-1);
  if (last === undefined) throw new Error("a group has an alert");
  const atMs = Math.max(...alerts.map((alert) => alert.atMs));
  return { ...last, ...issueOf(kind as "key_term_budget_warn", detail, group.slice(kind.length)), atMs, count };
}

/** A few of the names, each once. */
export function firstNames(names: readonly string[]): string {
  const few = [...new Set(names)].slice(0, KEYS_LISTED_MAX);
  return few.map((name) => JSON.stringify(name)).join(", ");
}
