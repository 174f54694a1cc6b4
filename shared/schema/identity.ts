/**
 * Identities of an OIDC provider as keys (docs/rules/identities.md#keys-of-subjects): how the hash of a key follows from a
 * subject, and the internal route by which the Worker requests a key that does not exist yet. Such a key has no secret.
 */
import * as z from "zod";
import { sha256Hex } from "../crypto/sha256.ts";
import { isStorable, knownName } from "./common.ts";

const IDENTITY_PREFIX = "jwt:";

/** `jwt:` and the SHA-256 of issuer, 0x00 and subject in hex. It takes the place of the hash of a secret. */
export function identityKeyHash(issuer: string, subject: string): string {
  return `${IDENTITY_PREFIX}${sha256Hex(`${issuer}\u0000${subject}`)}`;
}

/** True for the hash of an identity's key: it is not the hash of a secret, so there is no secret to replace. */
export function isIdentityKeyHash(hash: string): boolean {
  return hash.startsWith(IDENTITY_PREFIX);
}

/**
 * A route of the control service. Its token is that of the internal routes
 * (docs/rules/internal-traffic.md#internal-routes).
 */
export const IDENTITIES_PATH = "/internal/identities";

const text = z.string().min(1).max(8192);

/** A claim of a token as a label, without characters that a database cannot hold or that a terminal should not show. */
const label = z
  .string()
  .transform((claim) =>
    claim
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, " ")
      .trim(),
  )
  .pipe(z.string().max(200));

/** `POST /internal/identities`: a key for a subject, under a tenant that is created when it does not exist. */
export const provisionIdentitySchema = z.object({
  issuer: text.refine(isStorable),
  /** Only its hash is stored. */
  subject: text,
  /** The name of the key. */
  name: label,
  /**
   * The name of the tenant. A name that a tenant already has is accepted as it is; a new tenant's name must be a valid new
   * name.
   */
  tenant: knownName,
});
export type ProvisionIdentity = z.infer<typeof provisionIdentitySchema>;

/** The answer. The copy of the key is in the store unless the store could not be reached. */
export const provisionedIdentitySchema = z.object({ key_hash: z.string(), tenant_created: z.boolean() });
export type ProvisionedIdentity = z.infer<typeof provisionedIdentitySchema>;
