/**
 * Sessions of the console (docs/rules/console.md#sessions). A session is a row; the browser has a token whose hash finds
 * it. What its user may do is read with every request.
 */
import { createHash } from "node:crypto";
import { and, eq, getTableColumns, gt, lte } from "drizzle-orm";
import type { Database } from "../db/connect.ts";
import { sessions, type UserRow, users } from "../db/schema/users.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";

/** How long a session lasts, in seconds. */
export const SESSION_SECS = 12 * 3600;

const TOKEN_BYTES = 32;

/** What sessions need from outside. */
interface SessionsOptions {
  readonly db: Database;
  readonly now: () => Date;
  readonly randomBytes: (count: number) => Uint8Array;
}

export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Begins a session of a user; the result is its token. Removes the sessions that are over. */
  async begin(userId: string): Promise<string> {
    const { db, now, randomBytes } = this.#options;
    const token = Buffer.from(randomBytes(TOKEN_BYTES)).toString("base64url");
    const at = now();
    await withDatabaseErrors(async () => {
      await db.delete(sessions).where(lte(sessions.expires_at, at));
      const expires_at = new Date(at.getTime() + SESSION_SECS * 1000);
      await db.insert(sessions).values({ token_hash: hashOf(token), user_id: userId, expires_at });
    });
    return token;
  }

  /** The user as the row says now; null: there is no such session any more. */
  async userOf(token: string): Promise<UserRow | null> {
    const { db, now } = this.#options;
    const current = and(eq(sessions.token_hash, hashOf(token)), gt(sessions.expires_at, now()));
    const [user] = await withDatabaseErrors(async () =>
      db.select(getTableColumns(users)).from(sessions).innerJoin(users, eq(users.id, sessions.user_id)).where(current),
    );
    return user ?? null;
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
