/** Reads one person who has signed in to the console (docs/rules/users.md#approval). */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import type { User } from "../../shared/schema/user.ts";
import { users } from "../db/schema/users.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parseId } from "../kernel/parse.ts";
import { userRecord } from "./user-record.ts";

/** The user. Throws 400, 404. */
export async function getUser(ctx: VerbContext, id: string): Promise<User> {
  const userId = parseId(id);
  return await withDatabaseErrors(async () => {
    const [row] = await ctx.db.select().from(users).where(eq(users.id, userId));
    if (row === undefined) throw new GatewayError("not_found");
    return await userRecord(ctx.db, row);
  });
}
