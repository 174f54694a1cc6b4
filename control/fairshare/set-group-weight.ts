/**
 * Sets the weight of a fairshare group; every key of its tenants is published again (docs/rules/fairshare.md#groups).
 */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type FairshareGroup, groupWeightSchema } from "../../shared/schema/fairshare.ts";
import { fairshareGroups } from "../db/schema/tenancy.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { parse } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { groupRecord, lockGroup, parseGroupName } from "./group-record.ts";

/** The group. Throws 400, 404. */
export async function setGroupWeight(ctx: VerbContext, name: string, input: unknown): Promise<Written<FairshareGroup>> {
  const group = parseGroupName(name);
  const { weight } = parse(groupWeightSchema, input);
  return await write(ctx, async (tx, journal) => {
    const before = await lockGroup(tx, group);
    ctx.checkRecord?.(groupRecord(before));
    const [row] = await tx
      .update(fairshareGroups)
      .set({ weight, rev: journal.rev, updated_at: ctx.now() })
      .where(eq(fairshareGroups.name, group))
      .returning();
    if (row === undefined) throw new GatewayError("not_found");
    journal.audit({
      action: "update_fairshare_group_weight",
      entityType: "fairshare_group",
      entityId: group,
      detail: changedFields(before, { weight }),
    });
    journal.groupChanged(group);
    return groupRecord(row);
  });
}
