/**
 * An OpenID provider at which people of a test sign in: discovery, authorization code with PKCE, token endpoint, key set.
 * It holds the client to the rules as a real one does, and gives away what a test tells it to.
 */
import { createHash, randomUUID } from "node:crypto";
import { jsonAnswer, startHttpSink } from "./http-sink.ts";
import { newIssuerKey, signToken } from "./issuer-key.ts";

export const CLIENT_ID = "console";
export const CLIENT_SECRET = "secret of the console";

/** The claims of the person who signs in unless a test says otherwise. */
export const ANN = { sub: "ann", email: "ann@example.org", name: "Ann", email_verified: true };

/**
 * The header in which a browser says who signs in with it: claims as JSON, each character outside ASCII escaped. They replace
 * {@link SignInProvider.claims}, so that tests of one provider do not meet.
 */
export const PERSON_HEADER = "x-test-person";

export type SignInProvider = Awaited<ReturnType<typeof startSignInProvider>>;

type Claims = Readonly<Record<string, unknown>>;

export async function startSignInProvider() {
  const published = await newIssuerKey("one", "RS256");
  const other = await newIssuerKey("one", "RS256");
  /** What a code was given for; each is redeemed once. */
  const codes = new Map<
    string,
    { challenge: string; nonce: string | null; redirectUri: string; claims: Claims | null }
  >();
  const sink = await startHttpSink(async ({ url, headers, body }) => {
    if (provider.away) return jsonAnswer({}, 503);
    if (url === "/.well-known/openid-configuration") return jsonAnswer(metadata);
    if (url === "/keys") return jsonAnswer({ keys: [published.publicJwk] });
    if (url.startsWith("/authorize?")) {
      const person = headers[PERSON_HEADER];
      const claims = typeof person === "string" ? (JSON.parse(person) as Record<string, unknown>) : null;
      return { status: 302, headers: { location: consent(`${issuer}${url}`, claims).href } };
    }
    if (url === "/userinfo") {
      const sub = Buffer.from(String(headers["authorization"]).replace("Bearer ", ""), "base64url").toString();
      return jsonAnswer({ sub, ...provider.userinfo });
    }
    await provider.held;
    const tokens = await redeem(new URLSearchParams(body), headers["authorization"]).catch(() => undefined);
    if (tokens === undefined) return jsonAnswer({}, 500);
    return tokens === null ? jsonAnswer({ error: "invalid_grant" }, 400) : jsonAnswer(tokens);
  });
  const issuer = sink.url;
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    code_challenge_methods_supported: ["S256"],
  };
  async function redeem(form: URLSearchParams, authorization: unknown): Promise<object | null> {
    const known = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const secret = Buffer.from(`${CLIENT_ID}:${encodeURIComponent(CLIENT_SECRET).replaceAll("%20", "+")}`);
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (known === undefined || known.challenge !== challenge || known.redirectUri !== form.get("redirect_uri"))
      return null;
    if (authorization !== `Basic ${secret.toString("base64")}`) return null;
    const nowSecs = Math.floor(Date.now() / 1000);
    const stated: Record<string, unknown> = {
      iss: issuer,
      aud: CLIENT_ID,
      iat: nowSecs,
      exp: nowSecs + 600,
      nonce: known.nonce ?? undefined,
      ...(known.claims ?? provider.claims),
    };
    const idToken = await signToken(provider.forged ? other : published, stated);
    // It says whose it is, to the userinfo endpoint.
    const accessToken = Buffer.from(String(stated["sub"])).toString("base64url");
    return { access_token: accessToken, token_type: "Bearer", id_token: idToken };
  }
  function consent(authorization: string, claims: Claims | null): URL {
    const asked = new URL(authorization).searchParams;
    const code = randomUUID();
    const redirectUri = asked.get("redirect_uri") ?? "";
    codes.set(code, { challenge: asked.get("code_challenge") ?? "", nonce: asked.get("nonce"), redirectUri, claims });
    const back = new URL(redirectUri);
    back.searchParams.set("code", code);
    back.searchParams.set("state", asked.get("state") ?? "");
    return back;
  }
  const provider = {
    issuer,
    /** Claims of the next ID tokens in addition to those of every token; undefined removes one. */
    claims: ANN as Claims,
    /** What the userinfo endpoint says in addition to the subject. */
    userinfo: {} as Claims,
    /** Signs with a key that is not published. */
    forged: false,
    /** Answers every request with 503. */
    away: false,
    /** Gives tokens only then. */
    held: Promise.resolve() as Promise<unknown>,
    /** The address to which it sends the browser that comes with this address. */
    consent: (authorization: string): URL => consent(authorization, null),
    close: sink.close,
  };
  return provider;
}
