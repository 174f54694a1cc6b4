/**
 * A fairshare group's row as the Management API shows it, and the row locked for a write.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { knownName } from "../../shared/schema/common.ts";
import { type FairshareGroup, fairshareGroupSchema } from "../../shared/schema/fairshare.ts";
import type { Transaction } from "../db/connect.ts";
import { fairshareGroups, type GroupRow } from "../db/schema/tenancy.ts";

/** The record of a row. */
export function groupRecord(row: GroupRow): FairshareGroup {
  return fairshareGroupSchema.parse({
    ...row,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  });
}

/** The name of a path as it is. Throws 404 for what no group can be called. */
export function parseGroupName(name: string): string {
  if (knownName.safeParse(name).data !== name) throw new GatewayError("not_found");
  return name;
}

/** The row, locked until the transaction ends. Throws 404. */
export async function lockGroup(tx: Transaction, name: string): Promise<GroupRow> {
  const [row] = await tx.select().from(fairshareGroups).where(eq(fairshareGroups.name, name)).for("update");
  if (row === undefined) throw new GatewayError("not_found");
  return row;
}
