/**
 * Checks an upstream address that an admin registers: scheme, user info, and every address its host resolves to
 * (decisions §16). A host that does not resolve is accepted unless private networks are blocked.
 */
import { GatewayError } from "../../shared/errors.ts";
import { isAddressAllowed, parseUpstreamUrl } from "../../shared/ssrf.ts";
import type { VerbContext } from "./context.ts";
import { fieldError } from "./parse.ts";

const LITERAL = /^(\d{1,3}(\.\d{1,3}){3}|\[.*\])$/;

/**
 * Throws 400 `validation_failed` or `address_blocked`, naming the field; the message names `entry` where that says more. A
 * blank address is fine.
 */
export async function checkUpstreamAddress(
  ctx: VerbContext,
  field: string,
  text: string,
  entry = field,
): Promise<void> {
  if (text === "") return;
  const url = parseUpstreamUrl(text);
  if (typeof url === "string") throw fieldError(field, url);
  const addresses = LITERAL.test(url.hostname) ? [url.hostname] : await ctx.resolve(url.hostname);
  const refused =
    addresses.length === 0 ? ctx.ssrf.blockPrivate : addresses.some((address) => !isAddressAllowed(address, ctx.ssrf));
  if (refused) throw new GatewayError("address_blocked", { value: entry, param: field });
}
