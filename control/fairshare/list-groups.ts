/**
 * Lists fairshare groups by name (docs/rules/management-api.md#lists).
 */
import { asc } from "drizzle-orm";
import type { FairshareGroup } from "../../shared/schema/fairshare.ts";
import { fairshareGroups } from "../db/schema/tenancy.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { afterName, parsePage, readPage } from "../kernel/paging.ts";
import { groupRecord } from "./group-record.ts";

/** One page. Throws 400. */
export async function listGroups(ctx: VerbContext, query: unknown): Promise<Page<FairshareGroup>> {
  const page = parsePage(query);
  return await readPage(
    page,
    (part) =>
      ctx.db
        .select()
        .from(fairshareGroups)
        .where(afterName(fairshareGroups.name, part))
        .orderBy(asc(fairshareGroups.name))
        .limit(part.limit),
    (row) => [row.name],
    groupRecord,
  );
}
