/**
 * Sign-in at a provider by OpenID Connect: authorization code with PKCE, state and nonce (OpenID Connect Core 3.1,
 * RFC 7636, RFC 9207). The checks are those of openid-client, and two that it does not make.
 */
import * as oidc from "openid-client";
import { isStorable } from "../../../shared/schema/common.ts";
import { isLoopback, type OidcProvider } from "../env.ts";
import type { Identity } from "../users.ts";
import type { SignInState } from "./sign-in-state.ts";

/** How long a provider may take to answer, in seconds. */
const TIMEOUT_SECS = 10;
/** What a provider says of itself is read again after this time. */
const DISCOVERY_MAX_AGE_MS = 3_600_000;
/** How far a provider's clock may be ahead. */
const AHEAD_MAX_MS = 60_000;

/** Where the browser goes, and what it keeps meanwhile. */
interface Departure {
  readonly url: URL;
  readonly state: SignInState;
}

interface Discovered {
  readonly atMs: number;
  readonly configuration: Promise<oidc.Configuration>;
}

/** Of more groups than this the others count as none. */
const GROUPS_MAX = 5000;

/** How providers write that an email is verified: a boolean, or one as text or number. */
const VERIFIED: ReadonlySet<unknown> = new Set([true, "true", 1, "1"]);

/** A provider does not say that an email belongs to who signs in with it. */
export class EmailNotVerified extends Error {
  override readonly name = "EmailNotVerified";
}

export class OidcSignIn {
  readonly #provider: OidcProvider;
  readonly #nowMs: () => number;
  #discovered: Discovered | null = null;

  constructor(provider: OidcProvider, nowMs: () => number) {
    this.#provider = provider;
    this.#nowMs = nowMs;
  }

  /** Rejects when the provider cannot be reached. */
  async depart(redirectUri: string, returnTo: string): Promise<Departure> {
    const configuration = await this.#configuration();
    const verifier = oidc.randomPKCECodeVerifier();
    const state = {
      provider: this.#provider.id,
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier,
      returnTo,
    };
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#provider.scopes,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state: state.state,
      nonce: state.nonce,
    });
    return { url, state };
  }

  /**
   * Who comes back; `callback` is the address, with its query, to which the provider has sent the browser. Rejects when
   * anything about it is not as this sign-in began, or the provider does not say the email; with EmailNotVerified when it does
   * not say that the email is verified.
   */
  async arrive(callback: URL, state: SignInState): Promise<Identity> {
    const configuration = await this.#configuration();
    const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
      pkceCodeVerifier: state.verifier,
      expectedState: state.state,
      expectedNonce: state.nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error("the provider gave no ID token");
    if (!isStorable(claims.sub)) throw new Error("the provider gave a subject with NUL or an unpaired surrogate");
    const { allowUnverifiedEmail, clientId, groupsClaim } = this.#provider;
    if (claims.azp !== undefined && claims.azp !== clientId)
      throw new Error("the ID token was issued for another client");
    if (claims.iat * 1000 > this.#nowMs() + AHEAD_MAX_MS) throw new Error("the ID token was issued in the future");
    const { userinfo_endpoint } = configuration.serverMetadata();
    const isInToken =
      typeof claims["email"] === "string" && (allowUnverifiedEmail || verifiedClaim(claims) !== undefined);
    const areGroupsInToken = groupsClaim === null || claimOf(claims, groupsClaim) !== undefined;
    const info: Readonly<Record<string, unknown>> =
      (isInToken && areGroupsInToken) || userinfo_endpoint === undefined
        ? {}
        : await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    const told: Readonly<Record<string, unknown>> = { ...claims, ...info };
    // What one source says of its email must not count for that of the other, which the person may have chosen.
    const source: Readonly<Record<string, unknown>> = isInToken || typeof info["email"] !== "string" ? claims : info;
    const email = source["email"];
    const verified = verifiedClaim(source);
    const name = told["name"];
    if (typeof email !== "string") throw new Error("the provider gave no email");
    if (!VERIFIED.has(verified) && !allowUnverifiedEmail)
      throw new EmailNotVerified(
        `the provider ${verified === undefined ? "did not send" : "sent false for"} email_verified: verify the email there, or set allow_unverified_email in OIDC_PROVIDERS`,
      );
    return {
      provider: this.#provider.id,
      subject: claims.sub,
      email,
      isEmailVerified: VERIFIED.has(verified),
      name: typeof name === "string" ? name : "",
      groups: groupsClaim === null ? [] : groupsIn(claimOf(told, groupsClaim)),
    };
  }

  async #configuration(): Promise<oidc.Configuration> {
    const nowMs = this.#nowMs();
    const age = this.#discovered === null ? Number.NaN : nowMs - this.#discovered.atMs;
    if (this.#discovered !== null && age >= 0 && age < DISCOVERY_MAX_AGE_MS)
      return await this.#discovered.configuration;
    const discovered = { atMs: nowMs, configuration: this.#discover() };
    this.#discovered = discovered;
    try {
      return await discovered.configuration;
    } catch (error) {
      if (this.#discovered === discovered) this.#discovered = null;
      throw error;
    }
  }

  async #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#provider;
    return await oidc.discovery(new URL(issuer), clientId, clientSecret, clientAuthentication(clientSecret), {
      timeout: TIMEOUT_SECS,
      // The token's signature counts too, not only the connection by which it came.
      execute: [oidc.enableNonRepudiationChecks, ...(isLoopback(new URL(issuer)) ? [oidc.allowInsecureRequests] : [])],
    });
  }
}

/** Entra ID has no email_verified; its claim for the same is one that the operator adds to its tokens. */
const verifiedClaim = (claims: Readonly<Record<string, unknown>>): unknown =>
  claims["email_verified"] ?? claims["xms_edov"];

/** A claim by its name, or by the names on the way to it, such as `realm_access.roles`. */
function claimOf(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split(".")
    .reduce<unknown>(
      (at, part) =>
        typeof at === "object" && at !== null && Object.hasOwn(at, part) ? Reflect.get(at, part) : undefined,
      claims,
    );
}

/** The names of groups in a claim: one text, or a list. */
function groupsIn(claim: unknown): readonly string[] {
  const names = (Array.isArray(claim) ? claim : [claim]).filter((one) => typeof one === "string" && isStorable(one));
  return [...new Set(names as string[])].slice(0, GROUPS_MAX);
}

/** The secret in the body where the provider takes it so, else in a header, which every provider takes (RFC 6749 2.3.1). */
function clientAuthentication(secret: string): oidc.ClientAuth {
  const post = oidc.ClientSecretPost(secret);
  const basic = oidc.ClientSecretBasic(secret);
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported;
    (methods?.includes("client_secret_post") === true ? post : basic)(server, client, body, headers);
  };
}
