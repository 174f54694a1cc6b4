/**
 * Which addresses an admin may register as upstreams (docs/rules/network-safety.md#address-policy,
 * docs/rules/network-safety.md#always-blocked). Link-local, metadata and similar addresses are always refused; private
 * ranges are allowed unless blocked, and an allow-list reopens private ranges only. This file checks literal addresses;
 * callers resolve names.
 */
import ipaddr from "ipaddr.js";
import { parseUpstreamUrl } from "./upstream-url.ts";

/** Ranges refused in addition to those that are always refused. */
export interface SsrfPolicy {
  readonly blockPrivate: boolean;
  /** CIDRs that stay allowed while private networks are blocked. */
  readonly allowedCidrs: readonly string[];
}

/**
 * The policy for the operator's own infrastructure (metrics server, job scheduler, mail server): it refuses only the ranges
 * that are always refused.
 */
export const INFRASTRUCTURE_POLICY: SsrfPolicy = { blockPrivate: false, allowedCidrs: [] };

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** CIDRs that are refused under any settings; the network configuration of the runtime uses them too. */
export const ALWAYS_BLOCKED_CIDRS = [
  "169.254.0.0/16",
  "0.0.0.0/8",
  "255.255.255.255/32",
  "224.0.0.0/4",
  "192.0.2.0/24",
  "198.51.100.0/24",
  "203.0.113.0/24",
  // protocol assignments, and the metadata and platform addresses of several clouds
  "192.0.0.0/24",
  "168.63.129.16/32",
  "100.100.100.200/32",
  "fe80::/10",
  "fec0::/10",
  "fd00:ec2::254/128",
  "fd20:ce::/32",
  "::/128",
  "ff00::/8",
  "2001:db8::/32",
  "3fff::/20",
  // these lead to unknown or arbitrary IPv4 addresses: Teredo, local NAT64, IPv4-translated
  "2001::/32",
  "64:ff9b:1::/48",
  "::ffff:0:0:0/96",
] as const;

/** CIDRs that are refused while private networks are blocked. */
export const PRIVATE_CIDRS = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "127.0.0.0/8",
  "100.64.0.0/10",
  // network benchmarks, and unassigned ranges: routers of some networks serve both
  "198.18.0.0/15",
  "240.0.0.0/4",
  "fc00::/7",
  "::1/128",
] as const;

type Range = readonly [Address, number];

/** Parsed once, because the data plane uses them on every request. */
const parsedOf = new WeakMap<readonly string[], readonly Range[]>();

function rangesOf(cidrs: readonly string[]): readonly Range[] {
  const known = parsedOf.get(cidrs);
  if (known !== undefined) return known;
  const ranges = cidrs.map((cidr) => ipaddr.parseCIDR(cidr));
  parsedOf.set(cidrs, ranges);
  return ranges;
}

/** IPv6 ranges whose addresses contain an IPv4 address that they lead to, and at which byte: NAT64, 6to4, compatible. */
const CARRIERS = [
  { range: ["64:ff9b::/96"], at: 12 },
  { range: ["2002::/16"], at: 2 },
] as const;
const COMPATIBLE = { range: ["::/96"], at: 12 } as const;

/**
 * The IPv6 ranges that lead to given IPv4 ranges, for a network configuration that checks an IPv6 address only by its own
 * bits. IPv4-mapped addresses are left out: every network treats them as the IPv4 addresses that they map.
 */
export function carriedRanges(cidrs: readonly string[]): readonly string[] {
  return cidrs.flatMap((cidr) => {
    const [address, bits] = ipaddr.parseCIDR(cidr);
    if (address.kind() === "ipv6") return [];
    return [...CARRIERS, COMPATIBLE].flatMap(({ range: [carrier], at }) => {
      const bytes = ipaddr.parseCIDR(carrier)[0].toByteArray();
      bytes.splice(at, 4, ...address.toByteArray());
      // `::` and the other addresses of this range that have a special meaning
      if (at === COMPATIBLE.at && carrier === COMPATIBLE.range[0] && bytes[12] === 0) return [];
      return [`${ipaddr.fromByteArray(bytes).toString()}/${at * 8 + bits}`];
    });
  });
}

/**
 * True when a literal address may be called. An IPv4 address inside an IPv6 address is checked too. False for text that is
 * not an address.
 */
export function isAddressAllowed(text: string, policy: SsrfPolicy): boolean {
  const bare = text.replace(/^\[|\]$/g, "");
  if (!ipaddr.isValid(bare)) return false;
  const address = ipaddr.process(bare);
  const carried = carriedAddress(address);
  return mayBeCalled(address, policy) && (carried === null || mayBeCalled(carried, policy));
}

function carriedAddress(address: Address): Address | null {
  if (address.kind() === "ipv4") return null;
  const carrier = [...CARRIERS, COMPATIBLE].find(({ range }) => matchesAny(address, range));
  if (carrier === undefined) return null;
  const bytes = address.toByteArray().slice(carrier.at, carrier.at + 4);
  // `::` and `::1` have a special meaning.
  return carrier === COMPATIBLE && bytes[0] === 0 ? null : ipaddr.fromByteArray(bytes);
}

function mayBeCalled(address: Address, policy: SsrfPolicy): boolean {
  if (matchesAny(address, ALWAYS_BLOCKED_CIDRS)) return false;
  if (!policy.blockPrivate || !matchesAny(address, PRIVATE_CIDRS)) return true;
  return matchesAny(address, policy.allowedCidrs);
}

/**
 * Checks an upstream's URL without resolving its host: false when it is not a URL of an upstream, or is a literal address
 * that may not be called.
 */
export function isUrlAllowed(text: string, policy: SsrfPolicy): boolean {
  const url = parseUpstreamUrl(text);
  if (typeof url === "string") return false;
  const bare = url.hostname.replace(/^\[|\]$/g, "");
  return !ipaddr.isValid(bare) || isAddressAllowed(bare, policy);
}

/**
 * The private ranges that an allow-list reopens, as CIDRs: the private part of each listed range, without public or always
 * refused addresses.
 */
export function reopenedRanges(allowedCidrs: readonly string[]): readonly string[] {
  const reopened = allowedCidrs.flatMap((allowed) => {
    if (ALWAYS_BLOCKED_CIDRS.some((blocked) => isWithin(allowed, blocked))) return [];
    if (PRIVATE_CIDRS.some((range) => isWithin(allowed, range))) return [allowed];
    return PRIVATE_CIDRS.filter((range) => isWithin(range, allowed));
  });
  return [...new Set(reopened)];
}

function isWithin(inner: string, outer: string): boolean {
  const [address, bits] = ipaddr.parseCIDR(inner);
  const [range, rangeBits] = ipaddr.parseCIDR(outer);
  return address.kind() === range.kind() && bits >= rangeBits && address.match(range, rangeBits);
}

/** True for text that is one CIDR. */
export function isCidr(text: string): boolean {
  try {
    ipaddr.parseCIDR(text);
    return true;
  } catch {
    return false;
  }
}

function matchesAny(address: Address, cidrs: readonly string[]): boolean {
  return rangesOf(cidrs).some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits));
}
