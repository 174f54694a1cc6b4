/**
 * Verifies identity tokens against their providers' keys, with jose (docs/rules/identities.md#checks). A token names
 * its provider itself; it is accepted only when that provider is configured and the algorithm is in the provider's
 * list. Refusals give no reason.
 */
import { JWKSMultipleMatchingKeys, JWKSNoMatchingKey, JWTExpired } from "jose/errors";
import { decodeJwt } from "jose/jwt/decode";
import { type JWTVerifyOptions, jwtVerify } from "jose/jwt/verify";
import type { JwtIssuer } from "../../shared/access/jwt-issuers.ts";
import { type Claims, type Identity, identityOf, isIssuedInTime } from "../domain/request/identity.ts";
import type { Clock, EventCounter, TokenVerdict, TokenVerifier } from "../ports.ts";
import type { IssuerKeys, KeySet } from "./issuer-keys.ts";

const LEEWAY_SECS = 60;

/** A configured provider and its keys. */
interface TokenProvider {
  readonly issuer: JwtIssuer;
  readonly keys: IssuerKeys;
}

type Failure = "invalid" | "expired" | "unknown_kid" | "unavailable";

export class JoseVerifier implements TokenVerifier {
  readonly #providers: readonly TokenProvider[];
  readonly #clock: Clock;
  readonly #events: EventCounter;

  constructor(providers: readonly TokenProvider[], clock: Clock, events: EventCounter) {
    this.#providers = providers;
    this.#clock = clock;
    this.#events = events;
  }

  get enabled(): boolean {
    return this.#providers.length > 0;
  }

  async verify(token: string): Promise<TokenVerdict> {
    let failure: Failure = "invalid";
    for (const provider of this.#providersOf(token)) {
      const verified = await this.#verifyWith(provider, token);
      if (typeof verified !== "string") {
        this.#count("ok");
        return { kind: "identity", identity: verified };
      }
      failure = verified;
    }
    if (failure === "unavailable") return { kind: "unavailable" };
    this.#count(failure);
    return { kind: "refused" };
  }

  /** The providers whose `iss` the token states; the token is not verified yet. */
  #providersOf(token: string): readonly TokenProvider[] {
    try {
      const { iss } = decodeJwt(token);
      return this.#providers.filter(({ issuer }) => issuer.issuer === iss);
    } catch {
      return [];
    }
  }

  async #verifyWith({ issuer, keys }: TokenProvider, token: string): Promise<Identity | Failure> {
    const set = await keys.current();
    if (set === null) return "unavailable";
    const claims = await this.#claimsOf(issuer, set, token);
    if (claims !== "unknown_kid") return this.#identified(issuer, claims);
    if (!(await keys.refresh())) return "unknown_kid";
    return this.#identified(issuer, await this.#claimsOf(issuer, (await keys.current()) ?? set, token));
  }

  #identified(issuer: JwtIssuer, claims: Claims | Failure): Identity | Failure {
    if (typeof claims === "string") return claims as Failure;
    return isIssuedInTime(claims, this.#clock()) ? (identityOf(issuer, claims) ?? "invalid") : "invalid";
  }

  async #claimsOf(issuer: JwtIssuer, set: KeySet, token: string): Promise<Claims | Failure> {
    const options: JWTVerifyOptions = {
      issuer: issuer.issuer,
      audience: [...issuer.audience],
      algorithms: [...issuer.algorithms],
      clockTolerance: LEEWAY_SECS,
      requiredClaims: ["exp"],
      currentDate: new Date(this.#clock()),
    };
    try {
      return (await jwtVerify(token, set, options)).payload;
    } catch (error) {
      if (!(error instanceof JWKSMultipleMatchingKeys)) return failureOf(error);
      return await firstThatFits(token, error, options);
    }
  }

  #count(result: "ok" | Exclude<Failure, "unavailable">): void {
    this.#events.count({ metric: "gateway_jwt_verify_total", labels: [result] });
  }
}

/** A token without a key id may be signed by any of several keys. */
async function firstThatFits(
  token: string,
  candidates: JWKSMultipleMatchingKeys,
  options: JWTVerifyOptions,
): Promise<Claims | Failure> {
  let failure: Failure = "invalid";
  for await (const key of candidates) {
    try {
      return (await jwtVerify(token, key, options)).payload;
    } catch (error) {
      failure = failureOf(error);
    }
  }
  return failure;
}

function failureOf(error: unknown): Failure {
  if (error instanceof JWTExpired) return "expired";
  return error instanceof JWKSNoMatchingKey ? "unknown_kid" : "invalid";
}
