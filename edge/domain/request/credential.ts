/**
 * The credential that a request presents (docs/rules/authentication.md#credentials): the bearer token, else the bare
 * `x-api-key`. With both, Authorization is used.
 */

type Credential =
  | { readonly kind: "none" }
  | { readonly kind: "malformed" }
  | { readonly kind: "secret"; readonly secret: string }
  /** An identity token, unverified. */
  | { readonly kind: "token"; readonly token: string };

/** Reads the credential; `isSecret` knows the shape of an issued key, `isToken` that of an identity token. */
export function readCredential(
  headers: Headers,
  isSecret: (text: string) => boolean,
  isToken: (text: string) => boolean,
): Credential {
  const authorization = headers.get("authorization");
  const apiKey = headers.get("x-api-key");
  if (authorization === null && apiKey === null) return { kind: "none" };
  const bearer = authorization === null ? null : (/^Bearer +(\S+)\s*$/i.exec(authorization)?.[1] ?? "");
  const text = bearer ?? apiKey?.trim() ?? "";
  if (isSecret(text)) return { kind: "secret", secret: text };
  return isToken(text) ? { kind: "token", token: text } : { kind: "malformed" };
}
