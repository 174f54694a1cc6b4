/** Lists the people who have signed in to the console, the newest first (docs/rules/users.md#approval). */
import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { type ListedUser, type User, usersFilterSchema } from "../../shared/schema/user.ts";
import { tenants } from "../db/schema/tenancy.ts";
import { users } from "../db/schema/users.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { beforeCreated, byNewest, createdMicros, parseFiltered, toPage } from "../kernel/paging.ts";
import { userRecords } from "./user-record.ts";

/** One page. Throws 400. */
export async function listUsers(ctx: VerbContext, query: unknown): Promise<Page<ListedUser>> {
  const { page, filter } = parseFiltered(usersFilterSchema, query);
  const { status, q } = filter;
  const rows = await withDatabaseErrors(async () =>
    ctx.db
      .select({ ...getTableColumns(users), tenant_name: tenants.name, micros: createdMicros(users.created_at) })
      .from(users)
      .leftJoin(tenants, eq(tenants.id, users.tenant_id))
      .where(
        and(
          beforeCreated(users, page),
          status === undefined ? undefined : eq(users.status, status),
          q === undefined ? undefined : matches(q),
        ),
      )
      .orderBy(...byNewest(users))
      .limit(page.limit + 1),
  );
  const records = await withDatabaseErrors(async () => userRecords(ctx.db, rows));
  const byId = new Map(records.map((record) => [record.id, record]));
  const listed = (row: (typeof rows)[number]): ListedUser => ({
    ...(byId.get(row.id) as User),
    tenant_name: row.tenant_name,
  });
  return toPage(rows, page, (row) => [row.micros, row.id], listed);
}

/** The typed text itself, in which no character has a special meaning. */
function matches(part: string): SQL {
  return sql`(position(lower(${part}) in lower(${users.email})) > 0 OR position(lower(${part}) in lower(${users.name})) > 0)`;
}
