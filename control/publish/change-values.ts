/**
 * Adds to changed records the values that the Cells need, from the rows as they are now. The newest values under an older
 * revision do no harm, because a cell accepts no values under a revision older than the one it knows
 * (docs/rules/admission.md#checked-again).
 */
import { eq, inArray } from "drizzle-orm";
import { adaptiveBounds } from "../../shared/fields/model-fields.ts";
import type { Change, RevItem } from "../../shared/wire/internal.ts";
import type { Database } from "../db/connect.ts";
import { models } from "../db/schema/models.ts";
import { fairshareGroups, tenants } from "../db/schema/tenancy.ts";
import { cappedAmong } from "./budget-subjects.ts";

/** The items in their order. Items whose row is gone, and items of other kinds, do not change. */
export async function withChangeValues(db: Database, items: readonly RevItem[]): Promise<readonly Change[]> {
  const ids = (kind: RevItem["kind"]): string[] => items.filter((item) => item.kind === kind).map((item) => item.id);
  const [ofTenants, ofGroups, ofModels] = [
    await tenantValues(db, ids("tenant")),
    await groupValues(db, ids("group")),
    await modelValues(db, ids("model")),
  ];
  const budgets = await cappedAmong(db, ids("tenant"), ids("key"));
  return items.map(({ kind, id, rev }) => {
    const [tenant, group, model] = [ofTenants.get(id), ofGroups.get(id), ofModels.get(id)];
    const budget = kind === "tenant" || kind === "key" ? budgets.get(id) : undefined;
    return {
      kind,
      id,
      rev,
      ...(kind === "tenant" && tenant !== undefined ? { tenant } : {}),
      ...(kind === "group" && group !== undefined ? { group } : {}),
      ...(kind === "model" && model !== undefined ? { model } : {}),
      ...(budget === undefined ? {} : { budget }),
    };
  });
}

type Values<K extends "tenant" | "group" | "model"> = ReadonlyMap<string, NonNullable<Change[K]>>;

async function tenantValues(db: Database, ids: string[]): Promise<Values<"tenant">> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .select({ tenant: tenants, group: fairshareGroups })
    .from(tenants)
    .innerJoin(fairshareGroups, eq(fairshareGroups.name, tenants.fairshare_group))
    .where(inArray(tenants.id, ids));
  return new Map(
    rows.map(({ tenant, group: { name, weight } }) => [
      tenant.id,
      { weight: tenant.weight, max_in_flight: tenant.max_in_flight, group: { name, weight } },
    ]),
  );
}

async function groupValues(db: Database, names: string[]): Promise<Values<"group">> {
  if (names.length === 0) return new Map();
  const rows = await db.select().from(fairshareGroups).where(inArray(fairshareGroups.name, names));
  return new Map(rows.map(({ name, weight }) => [name, { weight }]));
}

async function modelValues(db: Database, names: string[]): Promise<Values<"model">> {
  if (names.length === 0) return new Map();
  const rows = await db.select().from(models).where(inArray(models.model_name, names));
  return new Map(
    rows.map((row) => [
      row.model_name,
      { max_in_flight: row.max_in_flight, admission_weight: row.admission_weight, adaptive: adaptiveBounds(row) },
    ]),
  );
}
