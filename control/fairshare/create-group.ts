/** Creates a fairshare group (docs/rules/fairshare.md#groups). No tenant is in it yet, so no hot copy changes. */
import { GatewayError } from "../../shared/errors.ts";
import { createGroupSchema, type FairshareGroup } from "../../shared/schema/fairshare.ts";
import { fairshareGroups } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { isUniqueViolation } from "../kernel/database-errors.ts";
import { parse } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { groupRecord } from "./group-record.ts";

/** The new group. Throws 400, 409. */
export async function createGroup(ctx: VerbContext, input: unknown): Promise<Written<FairshareGroup>> {
  const body = parse(createGroupSchema, input);
  return await write(ctx, async (tx, journal) => {
    try {
      const now = ctx.now();
      const [row] = await tx
        .insert(fairshareGroups)
        .values({ ...body, created_at: now, updated_at: now, rev: journal.rev })
        .returning();
      if (row === undefined) throw new GatewayError("internal_error");
      journal.audit({
        action: "create_fairshare_group",
        entityType: "fairshare_group",
        entityId: row.name,
        detail: { weight: row.weight },
      });
      return groupRecord(row);
    } catch (error) {
      if (isUniqueViolation(error))
        throw new GatewayError("already_exists", { value: `fairshare group '${body.name}'`, param: "name" });
      throw error;
    }
  });
}
