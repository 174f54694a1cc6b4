/** The sessions of a person in the console, listed and ended (docs/rules/console.md#sessions). */
import { and, desc, eq, gt, ne } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { endSessionsQuerySchema, type UserSession, userSessionSchema } from "../../shared/schema/user-session.ts";
import { sessions, users } from "../db/schema/users.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { withIsoTimes } from "../kernel/iso-times.ts";
import { parse, parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";

/** Nobody reads more. */
const LISTED_MAX = 200;

/** Those that are not over, the last used first. Throws 400, 404. */
export async function listUserSessions(ctx: VerbContext, id: string): Promise<readonly UserSession[]> {
  const userId = parseId(id);
  return await withDatabaseErrors(async () => {
    const [user] = await ctx.db.select({ id: users.id }).from(users).where(eq(users.id, userId));
    if (user === undefined) throw new GatewayError("not_found");
    const rows = await ctx.db
      .select()
      .from(sessions)
      .where(and(eq(sessions.user_id, userId), gt(sessions.expires_at, ctx.now())))
      .orderBy(desc(sessions.last_seen_at), desc(sessions.id))
      .limit(LISTED_MAX);
    return rows.map((row) => userSessionSchema.parse(withIsoTimes(row)));
  });
}

/** Ends one session. Throws 400, 404. */
export async function endUserSession(ctx: VerbContext, id: string, session: string): Promise<Written<null>> {
  const userId = parseId(id);
  const sessionId = parseId(session);
  return await write(ctx, async (tx, journal) => {
    const one = and(eq(sessions.user_id, userId), eq(sessions.id, sessionId));
    const [ended] = await tx.delete(sessions).where(one).returning();
    if (ended === undefined) throw new GatewayError("not_found");
    const { address, agent } = ended;
    journal.audit({ action: "end_session", entityType: "user", entityId: userId, detail: { address, agent } });
    return null;
  });
}

/** Ends every session of a person, but `except`. Throws 400, 404. */
export async function endUserSessions(ctx: VerbContext, id: string, query: unknown): Promise<Written<null>> {
  const userId = parseId(id);
  const { except } = parse(endSessionsQuerySchema, query);
  return await write(ctx, async (tx, journal) => {
    const [user] = await tx.select({ id: users.id }).from(users).where(eq(users.id, userId));
    if (user === undefined) throw new GatewayError("not_found");
    const all = and(eq(sessions.user_id, userId), except === undefined ? undefined : ne(sessions.id, except));
    const ended = await tx.delete(sessions).where(all).returning({ id: sessions.id });
    journal.audit({
      action: "end_sessions",
      entityType: "user",
      entityId: userId,
      detail: { sessions: ended.length, ...(except === undefined ? {} : { except }) },
    });
    return null;
  });
}
