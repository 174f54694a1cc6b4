/**
 * Who was refused, for the log: the client's address and the prefix of the key, never the key
 * (docs/rules/authentication.md#refused-callers). On the platform the address is the one that the platform states. Elsewhere
 * the runtime knows only the connection that brought the request: its launcher replaces `peer` and `forwarded_for` by the
 * address (infra/local/client-addresses.ts).
 */
import { isKeySecret, keyPrefix } from "../../../shared/access/api-key.ts";
import { printable } from "../wire/text/printable.ts";
import { credentialText } from "./credential.ts";

/** Of a credential that is not a key of the gateway, at most this much is shown, and at most a quarter of it. */
const FOREIGN_PREFIX_MAX = 8;
/** The nearest proxies have written the end of the header. */
const FORWARDED_MAX = 400;

interface ClientAddress {
  readonly address?: string;
  readonly peer?: string;
  readonly forwarded_for?: string;
}

/** The client's address, or the data that the launcher needs to find it; nothing if neither is known. */
export function clientAddress(request: Request): ClientAddress {
  const { cf } = request as { readonly cf?: { readonly colo?: unknown; readonly clientIp?: unknown } };
  // Elsewhere than on the platform any client can send this header.
  const platform = cf?.colo === undefined ? null : request.headers.get("cf-connecting-ip");
  if (platform !== null) return { address: platform };
  if (typeof cf?.clientIp !== "string") return {};
  const forwarded = request.headers.get("x-forwarded-for");
  return { peer: cf.clientIp, ...(forwarded === null ? {} : { forwarded_for: forwarded.slice(-FORWARDED_MAX) }) };
}

/** The fields of the log line of a refusal. */
export function refusedCaller(request: Request): ClientAddress & { readonly key_prefix: string | null } {
  const text = credentialText(request.headers);
  return { ...clientAddress(request), key_prefix: text === null ? null : shownPrefix(text) };
}

function shownPrefix(text: string): string {
  return isKeySecret(text) ? keyPrefix(text) : printable(text, Math.min(FOREIGN_PREFIX_MAX, text.length >> 2));
}
