/**
 * Checks an upstream address that an admin registers: scheme, user info, and every address that its host resolves to
 * (docs/rules/network-safety.md#names). A host that does not resolve is accepted unless private networks are blocked. The
 * operator's own infrastructure may have any address that is not always blocked
 * (docs/rules/network-safety.md#operator-infrastructure).
 */
import { isIP } from "node:net";
import { GatewayError } from "../../shared/errors.ts";
import { INFRASTRUCTURE_POLICY, isAddressAllowed } from "../../shared/network/ssrf.ts";
import { parseUpstreamUrl } from "../../shared/network/upstream-url.ts";
import type { VerbContext } from "./context.ts";
import { fieldError } from "./parse.ts";

const LITERAL = /^(\d{1,3}(\.\d{1,3}){3}|\[.*\])$/;

/**
 * Throws 400 `validation_failed` or `address_blocked`, naming the field; the message names `entry` when it is given. A
 * blank address is accepted.
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
  if (refused) throw addressBlocked(field, entry);
}

function addressBlocked(path: string, entry: string): GatewayError {
  return new GatewayError("address_blocked", {
    value: entry,
    details: [{ path, message: "may not be called: use another address" }],
  });
}

/** Checks the URL of a part of the operator's own infrastructure, in the same way. */
export async function checkInfrastructureUrl(
  ctx: VerbContext,
  field: string,
  text: string,
  entry = field,
): Promise<void> {
  await checkUpstreamAddress({ ...ctx, ssrf: INFRASTRUCTURE_POLICY }, field, text, entry);
}

/** Checks the host of a part of the operator's own infrastructure, by name or address, where there is no URL. */
export async function checkInfrastructureHost(
  ctx: VerbContext,
  field: string,
  host: string,
  entry = field,
): Promise<void> {
  const addresses = isIP(host) === 0 ? await ctx.resolve(host) : [host];
  if (addresses.some((address) => !isAddressAllowed(address, INFRASTRUCTURE_POLICY)))
    throw addressBlocked(field, entry);
}
