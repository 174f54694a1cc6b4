/**
 * An OIDC provider that a test controls: it publishes keys over HTTP and signs tokens with any of them, or with keys that
 * it never published.
 */
import type { JWK } from "jose";
import { jsonAnswer, startHttpSink } from "./http-sink.ts";
import { type IssuerKey, newIssuerKey, signToken } from "./issuer-key.ts";

export interface OidcIssuer {
  /** Its `iss`; below it is `/.well-known/jwks.json`. */
  readonly url: string;
  /** The keys that it publishes now. */
  readonly published: JWK[];
  /** The status with which it answers requests for its key set; 200 unless a test changes it. */
  status: number;
  /** How often its key set was read so far. */
  readonly reads: () => number;
  newKey(alg?: string): Promise<IssuerKey>;
  /** A token that is valid for ten minutes unless claims or header say otherwise; null removes a claim. */
  sign(key: IssuerKey, claims?: Readonly<Record<string, unknown>>, header?: object): Promise<string>;
  close(): Promise<void>;
}

const KEYS_PATH = "/.well-known/jwks.json";

/** Starts it on a free loopback port. It publishes nothing at first. */
export async function startOidcIssuer(audience: string): Promise<OidcIssuer> {
  const published: JWK[] = [];
  let kids = 0;
  const sink = await startHttpSink(({ url }) => {
    if (url !== KEYS_PATH) return { status: 404 };
    const { headers, ...answer } = jsonAnswer({ keys: published }, issuer.status);
    return { ...answer, headers: { ...headers, ...(issuer.status === 302 ? { location: "/elsewhere" } : {}) } };
  });
  const { url } = sink;
  const issuer: OidcIssuer = {
    url,
    published,
    status: 200,
    reads: () => sink.asked.filter((asked) => asked.url === KEYS_PATH).length,
    newKey: async (alg = "RS256") => {
      kids += 1;
      return await newIssuerKey(`key-${kids}`, alg);
    },
    sign: async (key, claims = {}, header = {}) => {
      const nowSecs = Math.floor(Date.now() / 1000);
      const stated = { iss: url, aud: audience, iat: nowSecs, exp: nowSecs + 600, ...claims };
      return await signToken(key, stated, header);
    },
    close: sink.close,
  };
  return issuer;
}
