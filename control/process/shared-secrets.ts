/**
 * Compares the secrets that all instances of a cluster must have alike with those that the first instance was started with
 * (docs/cluster.md#secrets-that-all-share). The database has keyed digests of them, which the launcher makes
 * (infra/local/secret-digests.ts): they tell nobody a secret. Invariant: an instance that is refused has changed nothing.
 */
import { sql } from "drizzle-orm";
import type { Database } from "../db/connect.ts";

/**
 * Name of the secret's variable -> its digest, and after plus signs those of old values that the instance accepts. Names of secrets
 * that an instance does not use are left out.
 */
export type SecretDigests = Readonly<Record<string, string>>;

/** The digests are made with this one, so where it differs all differ. */
const KEY_OF_DIGESTS = "GATEWAY_CLUSTER_KEY";

/** Thrown when a secret differs. Its message is one line with the variables and what to do. */
export class SharedSecretsError extends Error {
  override readonly name = "SharedSecretsError";
}

/** Throws SharedSecretsError when one of them is another one than the first instance's. */
export async function checkSharedSecrets(db: Pick<Database, "execute">, digests: SecretDigests): Promise<void> {
  const { rows } = (await db.execute(sql`SELECT name, digest FROM shared_secrets`)) as unknown as {
    rows: { name: string; digest: string }[];
  };
  const differ = rows.filter(({ name, digest }) => digests[name]?.split("+").includes(digest) === false);
  if (differ.length === 0) return;
  const names = differ.map(({ name }) => name).sort();
  const shown = names.includes(KEY_OF_DIGESTS) ? [KEY_OF_DIGESTS] : names;
  throw new SharedSecretsError(
    `other instances of this cluster have a different ${shown.join(" and a different ")}: set the same value on all of them. To change it on purpose, also set the previous value as the old one (docs/rotate.md), or start the first instance with the new value and GATEWAY_NEW_SHARED_SECRETS=1`,
  );
}

/**
 * Remembers those that are not known yet, or known by an old value only. `isNew`: the operator says that they were changed, so they
 * replace all others. Throws SharedSecretsError when another instance was first.
 */
export async function recordSharedSecrets(db: Database, digests: SecretDigests, isNew: boolean): Promise<void> {
  await db.transaction(async (transaction) => {
    // Instances that start together wait for each other.
    await transaction.execute(sql`LOCK TABLE shared_secrets IN EXCLUSIVE MODE`);
    if (isNew) await transaction.execute(sql`DELETE FROM shared_secrets`);
    await checkSharedSecrets(transaction, digests);
    await transaction.execute(
      sql`INSERT INTO shared_secrets (name, digest) SELECT key, split_part(value, '+', 1) FROM jsonb_each_text(${JSON.stringify(digests)}::jsonb)
        ON CONFLICT (name) DO UPDATE SET digest = excluded.digest`,
    );
  });
}
