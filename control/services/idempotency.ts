/**
 * Idempotency-Key on creates (decisions §2.5): the same key and body bytes within 24 hours are answered with the stored
 * answer. Keys are kept as hashes, and answers encrypted under the key itself, so that a secret in an answer cannot be
 * read back from the database.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { and, eq, lt, type SQL, sql } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { idempotencyKeys } from "../db/schema/journal.ts";
import type { VerbContext } from "./context.ts";
import { fieldError } from "./parse.ts";
import { inDatabase } from "./write.ts";

const KEPT_MS = 24 * 60 * 60 * 1000;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
}

/** Runs `work` once per key. Throws 400, 409 `idempotency_key_reuse`, 409 `idempotency_in_progress`, or what `work` throws. */
export async function once(
  ctx: VerbContext,
  key: string,
  scope: string,
  requestBody: string,
  work: () => Promise<Omit<Answer, "replayed">>,
): Promise<Answer> {
  if (key.length < 1 || key.length > 255) throw fieldError("idempotency-key", "must be 1 to 255 characters");
  const keyHash = sha256(key);
  const bodyHash = sha256(requestBody);
  const mine = and(eq(idempotencyKeys.scope, scope), eq(idempotencyKeys.key_hash, keyHash));
  const claimed = await inDatabase(async () => {
    await ctx.db.delete(idempotencyKeys).where(lt(idempotencyKeys.expires_at, ctx.now()));
    return await ctx.db
      .insert(idempotencyKeys)
      .values({ key_hash: keyHash, scope, body_hash: bodyHash, expires_at: new Date(ctx.now().getTime() + KEPT_MS) })
      .onConflictDoNothing()
      .returning({ scope: idempotencyKeys.scope });
  });
  if (claimed.length === 0)
    return await inDatabase(async () =>
      replay(key, bodyHash, (await ctx.db.select().from(idempotencyKeys).where(mine))[0]),
    );
  const answer = await workOrFree(ctx, mine, work);
  try {
    await ctx.db
      .update(idempotencyKeys)
      .set({ status: answer.status, answer: encrypt(key, answer.body) })
      .where(mine);
  } catch {
    // The work is committed: the key stays claimed, so that a repetition is refused rather than done twice.
  }
  return { ...answer, replayed: false };
}

/** The answer of `work`; when it throws, the key may be used again. */
async function workOrFree<T>(ctx: VerbContext, mine: SQL | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await ctx.db
      .delete(idempotencyKeys)
      .where(and(mine, sql`${idempotencyKeys.status} IS NULL`))
      .catch(() => undefined);
    throw error;
  }
}

function replay(key: string, bodyHash: string, row: typeof idempotencyKeys.$inferSelect | undefined): Answer {
  if (row === undefined) throw new GatewayError("idempotency_in_progress");
  if (row.body_hash !== bodyHash) throw new GatewayError("idempotency_key_reuse");
  if (row.status === null || row.answer === null) throw new GatewayError("idempotency_in_progress");
  return { status: row.status, body: decrypt(key, row.answer), replayed: true };
}

function encrypt(key: string, text: string): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", deriveKey(key), nonce);
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: string, sealed: Uint8Array): string {
  const bytes = Buffer.from(sealed);
  const decipher = createDecipheriv("aes-256-gcm", deriveKey(key), bytes.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  return (
    decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES), undefined, "utf8") + decipher.final("utf8")
  );
}

function deriveKey(key: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, "", "gateway idempotency", 32));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
