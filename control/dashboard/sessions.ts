/**
 * Sessions of the console (docs/rules/console.md#sessions). A session is a row; the browser has a token whose hash finds
 * it. What its user may do is read with every request.
 */
import { createHash } from "node:crypto";
import { and, eq, getTableColumns, gt, lte } from "drizzle-orm";
import type { Database } from "../db/connect.ts";
import { sessions, users } from "../db/schema/users.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { FreshReads } from "../kernel/fresh-reads.ts";
import type { ConsolePerson } from "../users/person.ts";
import { personNow } from "../users/person-now.ts";

/** How long a session lasts, in seconds. */
export const SESSION_SECS = 12 * 3600;

const TOKEN_BYTES = 32;
/** How exactly it is known when a session was used last. */
const SEEN_EVERY_MS = 60_000;

/** What sessions need from outside. */
interface SessionsOptions {
  readonly db: Database;
  readonly now: () => Date;
  readonly randomBytes: (count: number) => Uint8Array;
}

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #lookups = new FreshReads<ConsolePerson | null>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Begins a session of a user; the result is its token. Removes the sessions that are over. `from`: as it is shown. */
  async begin(userId: string, from: { readonly address: string; readonly agent: string }): Promise<string> {
    const { db, now, randomBytes } = this.#options;
    const token = Buffer.from(randomBytes(TOKEN_BYTES)).toString("base64url");
    const at = now();
    await withDatabaseErrors(async () => {
      await db.delete(sessions).where(lte(sessions.expires_at, at));
      const expires_at = new Date(at.getTime() + SESSION_SECS * 1000);
      const session = { token_hash: hashOf(token), user_id: userId, expires_at, created_at: at, last_seen_at: at };
      await db.insert(sessions).values({ ...session, ...from });
    });
    return token;
  }

  /** The person as the rows say now; null: there is no such session any more. */
  async personOf(token: string): Promise<ConsolePerson | null> {
    const hash = hashOf(token);
    return await this.#lookups.get(hash, async () => await this.#personNow(hash));
  }

  async #personNow(hash: string): Promise<ConsolePerson | null> {
    const { db, now } = this.#options;
    const at = now();
    const current = and(eq(sessions.token_hash, hash), gt(sessions.expires_at, at));
    return await withDatabaseErrors(async () => {
      const [row] = await db
        .select({ user: getTableColumns(users), session: getTableColumns(sessions) })
        .from(sessions)
        .innerJoin(users, eq(users.id, sessions.user_id))
        .where(current);
      if (row === undefined) return null;
      const { user, session } = row;
      if (at.getTime() - session.last_seen_at.getTime() >= SEEN_EVERY_MS)
        await db.update(sessions).set({ last_seen_at: at }).where(eq(sessions.token_hash, hash));
      return await personNow(db, user, { id: session.id, chosen: session.tenant_id });
    });
  }

  /** Chooses the tenant that a session shows. */
  async choose(sessionId: string, tenantId: string): Promise<void> {
    await withDatabaseErrors(async () =>
      this.#options.db.update(sessions).set({ tenant_id: tenantId }).where(eq(sessions.id, sessionId)),
    );
  }

  async end(token: string): Promise<void> {
    await withDatabaseErrors(async () =>
      this.#options.db.delete(sessions).where(eq(sessions.token_hash, hashOf(token))),
    );
  }
}

/** Names a session to our own processes; it lets nobody in. */
export function sessionName(token: string): string {
  return hashOf(token);
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
