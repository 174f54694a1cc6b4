/**
 * Idempotency-Key on creates (docs/rules/management-api.md#idempotency): a request with the same key and the same body
 * bytes within 24 hours gets the stored answer. Keys are stored as hashes, and answers are encrypted under the key itself,
 * so that a secret in an answer cannot be read back from the database.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { and, eq, isNull, lt } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import type { Transaction } from "../db/connect.ts";
import { idempotencyKeys } from "../db/schema/journal.ts";
import type { VerbContext, Written } from "./context.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { fieldError } from "./parse.ts";

const KEPT_MS = 24 * 60 * 60 * 1000;
/** Longer than any write takes. */
const CLAIM_MS = 60 * 1000;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

type Claimant = Pick<VerbContext, "db" | "now">;

interface StoredAnswer {
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
  readonly sync: Written<unknown>["sync"];
}

/**
 * Runs `work` once per key. The context that `work` gets stores the answer in the transaction of the write itself, so that
 * the write and its answer exist together or not at all, whenever this process ends. A claim without an answer expires
 * after a minute; a process that has lost its claim by then writes nothing. Throws 400, 409 `idempotency_key_reuse`, 409
 * `idempotency_in_progress`, or what `work` throws.
 */
export async function runOnce(
  ctx: VerbContext,
  key: string,
  scope: string,
  requestBody: string,
  work: (ctx: VerbContext) => Promise<Written<unknown>>,
): Promise<StoredAnswer> {
  if (key.length < 1 || key.length > 255) throw fieldError("idempotency-key", "must be 1 to 255 characters");
  const row = { key_hash: sha256(key), scope, body_hash: sha256(requestBody) };
  const mine = and(eq(idempotencyKeys.scope, scope), eq(idempotencyKeys.key_hash, row.key_hash));
  const until = new Date(ctx.now().getTime() + CLAIM_MS);
  const claim = and(mine, isNull(idempotencyKeys.status), eq(idempotencyKeys.expires_at, until));
  if (!(await claimRow(ctx, { ...row, expires_at: until })))
    return await withDatabaseErrors(async () =>
      replay(key, row.body_hash, (await ctx.db.select().from(idempotencyKeys).where(mine))[0]),
    );
  const keep = async (tx: Transaction, record: unknown): Promise<void> => {
    const kept = await tx
      .update(idempotencyKeys)
      .set({
        status: 200,
        answer: encrypt(key, JSON.stringify(record)),
        expires_at: new Date(ctx.now().getTime() + KEPT_MS),
      })
      .where(claim)
      .returning({ scope: idempotencyKeys.scope });
    if (kept.length === 0) throw new GatewayError("idempotency_in_progress");
  };
  try {
    const { record, sync } = await work({ ...ctx, beforeCommit: keep });
    return { status: 200, body: JSON.stringify(record), replayed: false, sync };
  } catch (error) {
    await ctx.db
      .delete(idempotencyKeys)
      .where(claim)
      .catch(() => undefined);
    throw error;
  }
}

/** True for the first call with a key of a scope, in whichever process; until then the key is remembered. */
export async function claimOnce(ctx: Claimant, scope: string, key: string, until: Date): Promise<boolean> {
  return await claimRow(ctx, { key_hash: sha256(key), scope, body_hash: "", expires_at: until });
}

async function claimRow({ db, now }: Claimant, row: typeof idempotencyKeys.$inferInsert): Promise<boolean> {
  const claimed = await withDatabaseErrors(async () => {
    await db.delete(idempotencyKeys).where(lt(idempotencyKeys.expires_at, now()));
    return await db
      .insert(idempotencyKeys)
      .values(row)
      .onConflictDoNothing()
      .returning({ scope: idempotencyKeys.scope });
  });
  return claimed.length === 1;
}

function replay(key: string, bodyHash: string, row: typeof idempotencyKeys.$inferSelect | undefined): StoredAnswer {
  if (row === undefined) throw new GatewayError("idempotency_in_progress");
  if (row.body_hash !== bodyHash) throw new GatewayError("idempotency_key_reuse");
  if (row.status === null || row.answer === null) throw new GatewayError("idempotency_in_progress");
  return { status: row.status, body: decrypt(key, row.answer), replayed: true, sync: "done" };
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
