/**
 * Lists fairshare groups by name (docs/rules/management-api.md#lists).
 */
import { asc, gt } from "drizzle-orm";
import type { FairshareGroup } from "../../shared/schema/fairshare.ts";
import { fairshareGroups } from "../db/schema/tenancy.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { badCursor, parsePage, toPage } from "../kernel/paging.ts";
import { groupRecord } from "./group-record.ts";

/** One page. Throws 400. */
export async function listGroups(ctx: VerbContext, query: unknown): Promise<Page<FairshareGroup>> {
  const page = parsePage(query);
  const after = page.after?.[0];
  if (page.after !== null && after === undefined) throw badCursor();
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select()
      .from(fairshareGroups)
      .where(after === undefined ? undefined : gt(fairshareGroups.name, after))
      .orderBy(asc(fairshareGroups.name))
      .limit(page.limit + 1),
  );
  return toPage(rows, page, (row) => [row.name], groupRecord);
}
