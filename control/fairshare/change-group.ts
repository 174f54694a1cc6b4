/**
 * Renames and deletes fairshare groups (docs/rules/fairshare.md#groups). `default` always exists, and a group that has tenants
 * is not deleted.
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type FairshareGroup, renameGroupSchema } from "../../shared/schema/fairshare.ts";
import { fairshareGroups, type GroupRow, tenants } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isForeignKeyViolation, isUniqueViolation } from "../kernel/database-errors.ts";
import { fieldError, parse } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { groupRecord, lockGroup, parseGroupName } from "./group-record.ts";

const DEFAULT = "default";

/** The group under its new name, with its tenants. Throws 400, 404, 409. */
export async function renameGroup(ctx: VerbContext, from: string, input: unknown): Promise<Written<FairshareGroup>> {
  const group = parseGroupName(from);
  const { name } = parse(renameGroupSchema, input);
  return await write(ctx, async (tx, journal) => {
    const before = await lockGroup(tx, group);
    ctx.checkRecord?.(groupRecord(before));
    const changed = { rev: journal.rev, updated_at: ctx.now() };
    if (name === group) {
      const [row] = await tx.update(fairshareGroups).set(changed).where(eq(fairshareGroups.name, group)).returning();
      journal.groupChanged(group);
      return groupRecord(row as GroupRow);
    }
    refuseDefault(group);
    try {
      const [row] = await tx
        .insert(fairshareGroups)
        .values({ ...before, name, ...changed })
        .returning();
      const moved = await tx
        .update(tenants)
        .set({ fairshare_group: name, ...changed })
        .where(eq(tenants.fairshare_group, group))
        .returning({ id: tenants.id });
      await tx.delete(fairshareGroups).where(eq(fairshareGroups.name, group));
      journal.audit({
        action: "rename_fairshare_group",
        entityType: "fairshare_group",
        entityId: name,
        detail: { changed: { name: [group, name] }, tenants: moved.length },
      });
      journal.tenantsMoved(
        name,
        moved.map(({ id }) => id),
      );
      return groupRecord(row as GroupRow);
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `fairshare group '${name}'`, param: "name" });
      throw error;
    }
  });
}

/** Throws 400 for `default` and for a group that has tenants, 404. */
export async function deleteGroup(ctx: VerbContext, name: string): Promise<Written<null>> {
  const group = parseGroupName(name);
  return await write(ctx, async (tx, journal) => {
    const row = await lockGroup(tx, group);
    ctx.checkRecord?.(groupRecord(row));
    refuseDefault(group);
    try {
      await tx.delete(fairshareGroups).where(eq(fairshareGroups.name, group));
    } catch (error) {
      if (isForeignKeyViolation(error)) throw fieldError("name", "has tenants: move them to another group first");
      throw error;
    }
    journal.audit({
      action: "delete_fairshare_group",
      entityType: "fairshare_group",
      entityId: group,
      detail: { weight: row.weight },
    });
    return null;
  });
}

function refuseDefault(name: string): void {
  if (name === DEFAULT) throw fieldError("name", "is the group of every tenant without another one: it always exists");
}
