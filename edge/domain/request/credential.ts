/**
 * The credential that a request presents (docs/rules/authentication.md#credentials): the bearer token, else the
 * text of `x-api-key`, else of `api-key`, else the subprotocol in which browsers send the key of a WebSocket.
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
  const text = credentialText(headers);
  if (text === null) return { kind: "none" };
  if (isSecret(text)) return { kind: "secret", secret: text };
  return isToken(text) ? { kind: "token", token: text } : { kind: "malformed" };
}

/** The text of the credential, empty if it is not a bearer token; null if there is none. */
export function credentialText(headers: Headers): string | null {
  const authorization = headers.get("authorization");
  if (authorization !== null) return /^Bearer +(\S+)\s*$/i.exec(authorization)?.[1] ?? "";
  return (headers.get("x-api-key") ?? headers.get("api-key"))?.trim() ?? keyOfSubprotocol(headers);
}

const KEY_PROTOCOL = "openai-insecure-api-key.";

function keyOfSubprotocol(headers: Headers): string | null {
  return (
    subprotocolsOf(headers)
      .find((name) => name.startsWith(KEY_PROTOCOL))
      ?.slice(KEY_PROTOCOL.length) ?? null
  );
}

/** The subprotocols that the client of a WebSocket offers. */
export function subprotocolsOf(headers: Headers): readonly string[] {
  return (
    headers
      .get("sec-websocket-protocol")
      ?.split(",")
      .map((name) => name.trim()) ?? []
  );
}
