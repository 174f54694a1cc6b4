/**
 * The key of a credential: the hash of a secret, or the hash of the subject of an identity token
 * (docs/rules/authentication.md#credentials, docs/rules/identities.md#keys-of-subjects). A token is verified once per request;
 * a subject without a key gets one when it is first used.
 */
import { hashKeySecret, isKeySecret, pepperId } from "../../../shared/access/api-key.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { ResolvedKey } from "../../../shared/records.ts";
import { identityKeyHash } from "../../../shared/schema/identity.ts";
import { readCredential } from "../../domain/request/credential.ts";
import { type Identity, looksLikeToken } from "../../domain/request/identity.ts";
import type { Found, LookupOptions } from "../../ports.ts";
import type { Call } from "../call/context.ts";

/** The identity of a credential. */
interface Identified {
  /** The hash under which the caller's key is stored. */
  readonly keyHash: string;
  /** The hashes of a secret with the peppers that were replaced. */
  readonly oldHashes: readonly string[];
  /** The subject of an identity token; null for a secret. */
  readonly identity: Identity | null;
}

/**
 * The identity of the call's credential; `verified` is its identity if that was verified already. Throws 401, or 503
 * `identity_unavailable`.
 */
export async function identify(call: Call, verified: Identity | null): Promise<Identified> {
  if (call.line !== undefined) return { keyHash: call.line.keyHash, oldHashes: [], identity: verified };
  const { tokens } = call.ports;
  const isToken = (text: string): boolean => tokens.enabled && looksLikeToken(text);
  const credential = readCredential(call.request.headers, isKeySecret, isToken);
  switch (credential.kind) {
    case "none":
      throw new GatewayError("missing_api_key");
    case "malformed":
      throw new GatewayError("invalid_api_key");
    case "secret": {
      const hashOf = (pepper: string | undefined): string => hashKeySecret(credential.secret, pepper);
      const { apiKeyPepper, apiKeyPeppersOld } = call.config;
      return { keyHash: hashOf(apiKeyPepper), oldHashes: apiKeyPeppersOld.map(hashOf), identity: verified };
    }
    case "token": {
      const identity = verified ?? (await verify(call, credential.token));
      return { keyHash: identityKeyHash(identity.issuer, identity.subject), oldHashes: [], identity };
    }
    default:
      return credential satisfies never;
  }
}

/** The key of a caller. An identity without a key gets one. Throws 401, or 503. */
export async function findKey(
  call: Call,
  { keyHash, oldHashes, identity }: Identified,
  options: LookupOptions = {},
): Promise<Found<ResolvedKey>> {
  const { directory, identities, keyHashes } = call.ports;
  const found = await directory.key(keyHash, { ...options, oldHashes });
  if (found !== null) {
    const { key_hash } = found.record;
    if (oldHashes.includes(key_hash))
      keyHashes.renew({ key_hash, new_key_hash: keyHash, pepper: pepperId(call.config.apiKeyPepper) });
    return found;
  }
  if (identity === null) throw new GatewayError("invalid_api_key");
  if (!identity.jitProvision) throw new GatewayError("invalid_token");
  const made = (await identities.provision(identity)) ? await directory.key(keyHash, { fresh: true }) : null;
  if (made === null) throw new GatewayError("identity_unavailable");
  return made;
}

async function verify(call: Call, token: string): Promise<Identity> {
  const verdict = await call.ports.tokens.verify(token);
  switch (verdict.kind) {
    case "identity":
      return verdict.identity;
    case "refused":
      throw new GatewayError("invalid_token");
    case "unavailable":
      throw new GatewayError("identity_unavailable");
    default:
      return verdict satisfies never;
  }
}
