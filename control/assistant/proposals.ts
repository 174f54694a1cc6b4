/**
 * Proposed writes between the answer that shows them and the click that runs them (docs/rules/assistant.md#proposals). What
 * is to run is in a token that only the console's server can read and make, so that no credential in a body is stored, and
 * any process of the console can run it. That it has run is a row, so that it runs once.
 */
import { hkdfSync } from "node:crypto";
import { eq, lte } from "drizzle-orm";
import { EncryptJWT, jwtDecrypt } from "jose";
import { z } from "zod";
import type { Database } from "../db/connect.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { assistantRuns } from "./tables.ts";

/** How long a proposal can be run, in seconds. */
const PROPOSAL_SECS = 15 * 60;

const sealedSchema = z.object({
  id: z.uuid(),
  user: z.string(),
  session: z.string(),
  method: z.string(),
  path: z.string(),
  body: z.string().nullable(),
  /** What the person was shown rests on it. */
  basis: z.string(),
  exp: z.number(),
});

/** A proposal as it was sealed: what would be sent, for whom, and what it rests on. */
export type SealedProposal = Omit<z.infer<typeof sealedSchema>, "exp">;

/** Whose a proposal is. */
interface Owner {
  readonly user: string;
  readonly session: string;
}

interface ProposalsOptions {
  readonly db: Database;
  readonly sessionSecret: string;
  readonly now: () => Date;
}

export class Proposals {
  readonly #options: ProposalsOptions;
  readonly #key: Uint8Array;

  constructor(options: ProposalsOptions) {
    this.#options = options;
    this.#key = new Uint8Array(hkdfSync("sha256", options.sessionSecret, "", "gateway-dashboard-proposal", 32));
  }

  /** The token, and when it ends. */
  async seal(proposal: SealedProposal): Promise<{ readonly token: string; readonly expiresAt: Date }> {
    const exp = Math.floor(this.#options.now().getTime() / 1000) + PROPOSAL_SECS;
    const token = await new EncryptJWT({ ...proposal })
      .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
      .setExpirationTime(exp)
      .encrypt(this.#key);
    return { token, expiresAt: new Date(exp * 1000) };
  }

  /** What can be run. Null: it is not one of ours, too old, or of another person or session. */
  async open(token: string, owner: Owner): Promise<SealedProposal | null> {
    return await this.#opened(token, owner, 0);
  }

  /** What could be run once, for as long again as it could be: as long as its row is kept. Null as for {@link open}. */
  async openAfterwards(token: string, owner: Owner): Promise<SealedProposal | null> {
    return await this.#opened(token, owner, PROPOSAL_SECS);
  }

  async #opened(token: string, owner: Owner, clockTolerance: number): Promise<SealedProposal | null> {
    try {
      const options = {
        currentDate: this.#options.now(),
        clockTolerance,
        keyManagementAlgorithms: ["dir"],
        contentEncryptionAlgorithms: ["A256GCM"],
        requiredClaims: ["exp"],
      };
      const { exp: _, ...proposal } = sealedSchema.parse((await jwtDecrypt(token, this.#key, options)).payload);
      return proposal.user === owner.user && proposal.session === owner.session ? proposal : null;
    } catch {
      return null;
    }
  }

  /** True for the first call with a proposal's id, in whichever process. */
  async take(id: string): Promise<boolean> {
    const { db, now } = this.#options;
    const at = now();
    const taken = await withDatabaseErrors(async () => {
      await db.delete(assistantRuns).where(lte(assistantRuns.expires_at, at));
      // Kept longer than any token of it is taken.
      const expires_at = new Date(at.getTime() + 2 * PROPOSAL_SECS * 1000);
      return await db.insert(assistantRuns).values({ id, expires_at }).onConflictDoNothing().returning();
    });
    return taken.length === 1;
  }

  /** Keeps the status of the answer to a proposal that was run. */
  async keepStatus(id: string, status: number): Promise<void> {
    const { db } = this.#options;
    await withDatabaseErrors(async () => db.update(assistantRuns).set({ status }).where(eq(assistantRuns.id, id)));
  }

  /** The status of the answer to a proposal; null: none has come. Undefined: it was not run. */
  async statusOf(id: string): Promise<number | null | undefined> {
    const { db } = this.#options;
    const [row] = await withDatabaseErrors(async () => db.select().from(assistantRuns).where(eq(assistantRuns.id, id)));
    return row?.status;
  }
}
