/**
 * Whose key a credential stands for: the hash of a secret, or that of the subject of an identity token (decisions §17.1,
 * §31). A token is verified once per request; a subject without a key gets one at its first use.
 */
import { hashKeySecret, isKeySecret } from "../../../shared/api-key.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { ResolvedKey } from "../../../shared/records.ts";
import { identityKeyHash } from "../../../shared/schema/identity.ts";
import { readCredential } from "../../domain/auth/credential.ts";
import { type Identity, looksLikeToken } from "../../domain/auth/identity.ts";
import type { Found, LookupOptions } from "../../ports.ts";
import type { Call } from "../call/context.ts";

/** The hash that the caller's key is kept under. Throws 401, or 503 `identity_unavailable`. */
export async function keyHashOf(call: Call): Promise<string> {
  const { tokens } = call.ports;
  const isToken = (text: string): boolean => tokens.enabled && looksLikeToken(text);
  const credential = readCredential(call.request.headers, isKeySecret, isToken);
  switch (credential.kind) {
    case "none":
      throw new GatewayError("missing_api_key");
    case "malformed":
      throw new GatewayError("invalid_api_key");
    case "secret":
      return hashKeySecret(credential.secret, call.config.apiKeyPepper);
    case "token": {
      call.facts.identity ??= await verified(call, credential.token);
      return identityKeyHash(call.facts.identity.issuer, call.facts.identity.subject);
    }
    default:
      return credential satisfies never;
  }
}

/** The key of a hash; that of an identity is made when it is not there. Throws 401, or 503. */
export async function findKey(call: Call, keyHash: string, options: LookupOptions = {}): Promise<Found<ResolvedKey>> {
  const { directory, identities } = call.ports;
  const found = await directory.key(keyHash, options);
  if (found !== null) return found;
  const { identity } = call.facts;
  if (identity === null) throw new GatewayError("invalid_api_key");
  if (!identity.jitProvision) throw new GatewayError("invalid_token");
  const made = (await identities.provision(identity)) ? await directory.key(keyHash, { fresh: true }) : null;
  if (made === null) throw new GatewayError("identity_unavailable");
  return made;
}

async function verified(call: Call, token: string): Promise<Identity> {
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
