/**
 * An OpenID provider at which people of a test sign in: discovery, authorization code with PKCE, token endpoint, key set.
 * It holds the client to the rules as a real one does, and gives away what a test tells it to.
 */
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { listen } from "../../infra/local/http/listen.ts";

export const CLIENT_ID = "console";
export const CLIENT_SECRET = "secret of the console";

/** The claims of the person who signs in unless a test says otherwise. */
export const ANN = { sub: "ann", email: "ann@example.org", name: "Ann", email_verified: true };

/**
 * The header in which a browser says who signs in with it: claims as JSON, each character outside ASCII escaped. They replace
 * {@link SignInProvider.claims}, so that tests of one provider do not meet.
 */
export const PERSON_HEADER = "x-test-person";

export interface SignInProvider {
  readonly issuer: string;
  /** Claims of the next ID tokens besides those of every token; undefined removes one. */
  claims: Readonly<Record<string, unknown>>;
  /** Signs with a key that is not published. */
  forged: boolean;
  /** Answers every request with 503. */
  away: boolean;
  /** The address to which it sends the browser that comes with this address. */
  readonly consent: (authorization: string) => URL;
  close(): Promise<void>;
}

/** Starts it on a free loopback port. */
export async function startSignInProvider(): Promise<SignInProvider> {
  const published = await generateKeyPair("RS256");
  const other = await generateKeyPair("RS256");
  const keys = [{ ...(await exportJWK(published.publicKey)), kid: "one", alg: "RS256", use: "sig" }];
  /** What a code was given for; each is redeemed once. */
  const codes = new Map<
    string,
    { challenge: string; nonce: string | null; redirectUri: string; claims: Readonly<Record<string, unknown>> | null }
  >();
  const server = createServer((request, response) => {
    const json = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (provider.away) return void json(503, {});
    if (request.url === "/.well-known/openid-configuration") return void json(200, metadata);
    if (request.url === "/keys") return void json(200, { keys });
    if (request.url?.startsWith("/authorize?") === true) {
      const person = request.headers[PERSON_HEADER];
      const claims = typeof person === "string" ? (JSON.parse(person) as Record<string, unknown>) : null;
      return void response.writeHead(302, { location: consent(`${issuer}${request.url}`, claims).href }).end();
    }
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on("end", () => {
      void redeem(new URLSearchParams(text), request.headers.authorization).then(
        (tokens) => json(tokens === null ? 400 : 200, tokens ?? { error: "invalid_grant" }),
        () => json(500, {}),
      );
    });
  });
  const listening = await listen(server, "127.0.0.1", 0);
  const issuer = listening.url;
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    code_challenge_methods_supported: ["S256"],
  };
  async function redeem(form: URLSearchParams, authorization: string | undefined): Promise<object | null> {
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
    const stated = {
      iss: issuer,
      aud: CLIENT_ID,
      iat: nowSecs,
      exp: nowSecs + 600,
      nonce: known.nonce ?? undefined,
      ...(known.claims ?? provider.claims),
    };
    const idToken = await new SignJWT(stated)
      .setProtectedHeader({ alg: "RS256", kid: "one" })
      .sign(provider.forged ? other.privateKey : published.privateKey);
    return { access_token: "a", token_type: "Bearer", id_token: idToken };
  }
  function consent(authorization: string, claims: Readonly<Record<string, unknown>> | null): URL {
    const asked = new URL(authorization).searchParams;
    const code = randomUUID();
    const redirectUri = asked.get("redirect_uri") ?? "";
    codes.set(code, { challenge: asked.get("code_challenge") ?? "", nonce: asked.get("nonce"), redirectUri, claims });
    const back = new URL(redirectUri);
    back.searchParams.set("code", code);
    back.searchParams.set("state", asked.get("state") ?? "");
    return back;
  }
  const provider: SignInProvider = {
    issuer,
    claims: ANN,
    forged: false,
    away: false,
    consent: (authorization) => consent(authorization, null),
    close: async () => await listening.close(),
  };
  return provider;
}
