/**
 * An OIDC provider that a test controls: it publishes keys over HTTP and signs tokens with any of them, or with keys that
 * it never published.
 */
import { createServer } from "node:http";
import type { JWK } from "jose";
import { listen } from "../../infra/local/http/listen.ts";
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

/** Starts it on a free loopback port. It publishes nothing at first. */
export async function startOidcIssuer(audience: string): Promise<OidcIssuer> {
  const published: JWK[] = [];
  let reads = 0;
  let kids = 0;
  const server = createServer((request, response) => {
    if (request.url !== "/.well-known/jwks.json") return void response.writeHead(404).end();
    reads += 1;
    response.writeHead(issuer.status, {
      "content-type": "application/json",
      ...(issuer.status === 302 ? { location: "/elsewhere" } : {}),
    });
    response.end(JSON.stringify({ keys: published }));
  });
  const listening = await listen(server, "127.0.0.1", 0);
  const url = listening.url;
  const issuer: OidcIssuer = {
    url,
    published,
    status: 200,
    reads: () => reads,
    newKey: async (alg = "RS256") => {
      kids += 1;
      return await newIssuerKey(`key-${kids}`, alg);
    },
    sign: async (key, claims = {}, header = {}) => {
      const nowSecs = Math.floor(Date.now() / 1000);
      const stated = { iss: url, aud: audience, iat: nowSecs, exp: nowSecs + 600, ...claims };
      return await signToken(key, stated, header);
    },
    close: async () => await listening.close(),
  };
  return issuer;
}
