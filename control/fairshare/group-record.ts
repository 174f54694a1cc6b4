/** A fairshare group's row as the Management API shows it, and the lock on the row for a write. */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { knownName } from "../../shared/schema/common.ts";
import { type FairshareGroup, fairshareGroupSchema } from "../../shared/schema/fairshare.ts";
import type { Transaction } from "../db/connect.ts";
import { fairshareGroups, type GroupRow } from "../db/schema/tenancy.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";

/** The record of a row. */
export function groupRecord(row: GroupRow): FairshareGroup {
  return fairshareGroupSchema.parse(withIsoTimes(row));
}

/** The name from a path. Throws 404 for a text that cannot be the name of a group. */
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
