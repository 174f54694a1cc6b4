/**
 * The internal route by which the Worker renews the hash of a key that was made with an old pepper (docs/rules/keys.md#peppers).
 * Its token is that of the internal routes.
 */
import * as z from "zod";

export const KEY_HASHES_PATH = "/internal/key-hashes";

const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** `POST /internal/key-hashes` */
export const renewKeyHashSchema = z.object({
  /** The stored hash of the secret. */
  key_hash: hash,
  /** The hash of the same secret with the Worker's current pepper, and which pepper that is. */
  new_key_hash: hash,
  pepper: z.string(),
});
export type RenewKeyHash = z.infer<typeof renewKeyHashSchema>;
