/**
 * Identities of an OIDC provider as keys (docs/rules/identities.md#keys-of-subjects): how a subject becomes a key's
 * hash, and the internal route by which the Worker asks the control service for a key that is not there yet. There is
 * no secret behind such a key.
 */
import * as z from "zod";
import { sha256Hex } from "../sha256.ts";
import { isStorable, knownName } from "./common.ts";

/** `jwt:` and SHA-256 of issuer, 0x00, subject in hex; stands where the hash of a secret stands. */
export function identityKeyHash(issuer: string, subject: string): string {
  return `jwt:${sha256Hex(`${issuer}\u0000${subject}`)}`;
}

/**
 * Route of the control service; the token is that of the internal routes
 * (docs/rules/internal-traffic.md#internal-routes).
 */
export const IDENTITIES_PATH = "/internal/identities";

const text = z.string().min(1).max(8192);

/** A claim of somebody's token as a label: without what no database can hold and no terminal should show. */
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
  /** Only ever hashed. */
  subject: text,
  /** Name of the key. */
  name: label,
  /** Name of the tenant: of a known one as it is, else as a new one may be named. */
  tenant: knownName,
});
export type ProvisionIdentity = z.infer<typeof provisionIdentitySchema>;

/** Its answer. The key's copy is in the store unless the store was away. */
export const provisionedIdentitySchema = z.object({ key_hash: z.string(), tenant_created: z.boolean() });
export type ProvisionedIdentity = z.infer<typeof provisionedIdentitySchema>;
