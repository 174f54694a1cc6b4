/** Lists the people who have signed in to the console, the newest first (docs/rules/users.md#approval). */
import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { type ListedUser, type User, usersFilterSchema } from "../../shared/schema/user.ts";
import { tenants } from "../db/schema/tenancy.ts";
import { users } from "../db/schema/users.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { beforeCreated, byNewest, createdMicros, parseFiltered, readPage } from "../kernel/paging.ts";
import { userRecords } from "./user-record.ts";

/** One page. Throws 400. */
export async function listUsers(ctx: VerbContext, query: unknown): Promise<Page<ListedUser>> {
  const { page, filter } = parseFiltered(usersFilterSchema, query);
  const { status, q } = filter;
  return await readPage(
    page,
    async (part) => {
      const rows = await ctx.db
        .select({ ...getTableColumns(users), tenant_name: tenants.name, micros: createdMicros(users.created_at) })
        .from(users)
        .leftJoin(tenants, eq(tenants.id, users.tenant_id))
        .where(
          and(
            beforeCreated(users, part),
            status === undefined ? undefined : eq(users.status, status),
            q === undefined ? undefined : matches(q),
          ),
        )
        .orderBy(...byNewest(users))
        .limit(part.limit);
      const records = await userRecords(ctx.db, rows);
      return rows.map(({ micros, tenant_name }, at) => ({ micros, tenant_name, user: records[at] as User }));
    },
    ({ micros, user }) => [micros, user.id],
    ({ user, tenant_name }): ListedUser => ({ ...user, tenant_name }),
  );
}

/** The typed text itself, in which no character has a special meaning. */
function matches(part: string): SQL {
  return sql`(position(lower(${part}) in lower(${users.email})) > 0 OR position(lower(${part}) in lower(${users.name})) > 0)`;
}
