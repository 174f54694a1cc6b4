/**
 * The credential that a request presents (decisions §17.1): the bearer token, else the bare `x-api-key`. With both,
 * Authorization is used.
 */

export type Credential =
  | { readonly kind: "none" }
  | { readonly kind: "malformed" }
  | { readonly kind: "secret"; readonly secret: string };

/** Reads the credential; `isSecret` knows the shape of an issued key. */
export function readCredential(headers: Headers, isSecret: (text: string) => boolean): Credential {
  const authorization = headers.get("authorization");
  const apiKey = headers.get("x-api-key");
  if (authorization === null && apiKey === null) return { kind: "none" };
  const bearer = authorization === null ? null : (/^Bearer +(\S+)\s*$/i.exec(authorization)?.[1] ?? "");
  const text = bearer ?? apiKey?.trim() ?? "";
  return isSecret(text) ? { kind: "secret", secret: text } : { kind: "malformed" };
}
