/**
 * Who a client is when proxies stand before the gateway. Any client may write any `x-forwarded-*` header, and a proxy adds
 * to what it was given: so the header is read from its end, where the nearest proxy has written, and only as far as listed
 * proxies have written it. Pure.
 */
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { envText } from "../../shared/env/env-fields.ts";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = ReturnType<typeof ipaddr.parseCIDR>;

/** More proxies than this in a row are a header of somebody's own. */
const HOPS_MAX = 32;

const LIST = "must be addresses and CIDRs of proxies, separated by commas, such as 10.0.7.0/28,192.0.2.7";
const EVERYBODY = "must not contain a range of all addresses, which would trust every client";

/** The proxies that are listed, as ranges; none when blank. */
export const trustedProxiesField = envText("")
  .transform((text, context): TrustedProxies => {
    const refuse = (message: string): typeof z.NEVER => {
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    };
    const items = text.split(",").map((item) => item.trim());
    const ranges = items.filter((item) => item !== "").map(rangeOf);
    const known = ranges.filter((range) => range !== null);
    if (known.length < ranges.length) return refuse(LIST);
    if (known.some(([, bits]) => bits === 0)) return refuse(EVERYBODY);
    return new TrustedProxies(known);
  })
  .meta({ values: "addresses and CIDRs, separated by commas" });

/** The proxies whose `x-forwarded-for` counts. */
export class TrustedProxies {
  readonly #ranges: readonly Range[];

  constructor(ranges: readonly Range[]) {
    this.#ranges = ranges;
  }

  /**
   * The address of the client: of the last one on the way from the peer that is no listed proxy. An entry that is no address
   * ends the way: the proxy that it came from is the client then.
   */
  clientOf(peer: string, forwardedFor: string | undefined): string {
    let client = addressOf(peer);
    if (client === null) return peer;
    let rest = forwardedFor ?? "";
    for (let hop = 0; hop < HOPS_MAX && rest !== "" && this.#has(client); hop += 1) {
      const comma = rest.lastIndexOf(",");
      const before = addressOf(rest.slice(comma + 1));
      if (before === null) break;
      client = before;
      rest = rest.slice(0, Math.max(comma, 0));
    }
    return client.toString();
  }

  #has(address: Address): boolean {
    return this.#ranges.some(
      ([range, bits]) => range.kind() === address.kind() && (address as ipaddr.IPv4).match(range as ipaddr.IPv4, bits),
    );
  }
}

/** A range or one address. */
function rangeOf(text: string): Range | null {
  const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const parsed = bareAddress(address);
  if (parsed === null) return null;
  const width = parsed.kind() === "ipv4" ? 32 : 128;
  const count = Number(bits ?? width);
  return count <= width ? ([parsed, count] as unknown as Range) : null;
}

/** An address as headers have it: bare, with a port, in brackets, or in brackets with a port. */
function addressOf(text: string): Address | null {
  const [, v4, v6] = /^(?:([\d.]+):\d{1,5}|\[([\da-f:.]+)\](?::\d{1,5})?)$/i.exec(text.trim()) ?? [];
  return bareAddress(v4 ?? v6 ?? text.trim());
}

/**
 * IPv4 in four decimal parts, or IPv6; an IPv4 address within IPv6 is the IPv4 address. Null for everything else, a zone
 * included: it means something on one machine alone, and may be any text.
 */
function bareAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return /^[\da-f:.]+$/i.test(text) && ipaddr.IPv6.isValid(text) ? ipaddr.process(text) : null;
}
