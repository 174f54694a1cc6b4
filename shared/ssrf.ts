/**
 * Which addresses an admin may register as upstreams (specification "SSRF policy", decisions §16, §43.5). Link-local, metadata
 * and the like are always refused; private ranges are allowed unless blocked, and an allow-list reopens private ranges
 * only. Resolving is the caller's; this decides about literal addresses.
 */
import ipaddr from "ipaddr.js";

/** What is refused besides what always is. */
export interface SsrfPolicy {
  readonly blockPrivate: boolean;
  /** CIDRs that stay allowed while private networks are blocked. */
  readonly allowedCidrs: readonly string[];
}

/** The policy of the operator's own infrastructure (metrics server, job scheduler, mail server): what always is refused. */
export const INFRASTRUCTURE_POLICY: SsrfPolicy = { blockPrivate: false, allowedCidrs: [] };

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Refused whatever the settings say, as CIDRs; also for the network configuration of the runtime. */
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
  // these lead to IPv4 addresses that cannot be told, or to any at all: Teredo, local NAT64, IPv4-translated
  "2001::/32",
  "64:ff9b:1::/48",
  "::ffff:0:0:0/96",
] as const;

/** Refused while private networks are blocked, as CIDRs. */
export const PRIVATE_CIDRS = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "127.0.0.0/8",
  "100.64.0.0/10",
  "fc00::/7",
  "::1/128",
] as const;

type Range = readonly [Address, number];

/** Parsed once: the data plane asks with every request. */
const parsedOf = new WeakMap<readonly string[], readonly Range[]>();

function rangesOf(cidrs: readonly string[]): readonly Range[] {
  const known = parsedOf.get(cidrs);
  if (known !== undefined) return known;
  const ranges = cidrs.map((cidr) => ipaddr.parseCIDR(cidr));
  parsedOf.set(cidrs, ranges);
  return ranges;
}

/** IPv6 ranges whose addresses lead to an IPv4 address that stands in them, and at which byte: NAT64, 6to4, compatible. */
const CARRIERS = [
  { range: ["64:ff9b::/96"], at: 12 },
  { range: ["2002::/16"], at: 2 },
] as const;
const COMPATIBLE = { range: ["::/96"], at: 12 } as const;

/**
 * IPv4 ranges as they stand in IPv6 ones that lead to them, for a network configuration that judges an IPv6 address by its
 * own bits only. IPv4-mapped addresses are not among them: every network takes those for what they map.
 */
export function carriedRanges(cidrs: readonly string[]): readonly string[] {
  return cidrs.flatMap((cidr) => {
    const [address, bits] = ipaddr.parseCIDR(cidr);
    if (address.kind() === "ipv6") return [];
    return [...CARRIERS, COMPATIBLE].flatMap(({ range: [carrier], at }) => {
      const bytes = ipaddr.parseCIDR(carrier)[0].toByteArray();
      bytes.splice(at, 4, ...address.toByteArray());
      // `::` and what follows it are addresses of their own
      if (at === COMPATIBLE.at && carrier === COMPATIBLE.range[0] && bytes[12] === 0) return [];
      return [`${ipaddr.fromByteArray(bytes).toString()}/${at * 8 + bits}`];
    });
  });
}

/** True when a literal address may be called. An IPv4 address inside an IPv6 one counts too; what is no address is refused. */
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
  // `::` and `::1` are addresses of their own.
  return carrier === COMPATIBLE && bytes[0] === 0 ? null : ipaddr.fromByteArray(bytes);
}

function mayBeCalled(address: Address, policy: SsrfPolicy): boolean {
  if (matchesAny(address, ALWAYS_BLOCKED_CIDRS)) return false;
  if (!policy.blockPrivate || !matchesAny(address, PRIVATE_CIDRS)) return true;
  return matchesAny(address, policy.allowedCidrs);
}

/**
 * What can be known of an upstream's URL without resolving its host: false when it is no URL of an upstream, or a literal
 * address that may not be called.
 */
export function isUrlAllowed(text: string, policy: SsrfPolicy): boolean {
  const url = parseUpstreamUrl(text);
  if (typeof url === "string") return false;
  const bare = url.hostname.replace(/^\[|\]$/g, "");
  return !ipaddr.isValid(bare) || isAddressAllowed(bare, policy);
}

/**
 * The private ranges that an allow-list reopens, as CIDRs: of a listed range what is private of it, of a listed public or
 * always blocked one nothing.
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

/** The URL of an upstream, or what is wrong with it as a short phrase. */
export function parseUpstreamUrl(text: string): URL | string {
  const url = URL.parse(text);
  if (url === null) return "must be an http or https URL";
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must be an http or https URL";
  if (url.username !== "" || url.password !== "") return "must not contain user info";
  if (url.hash !== "") url.hash = "";
  return url;
}

function matchesAny(address: Address, cidrs: readonly string[]): boolean {
  return rangesOf(cidrs).some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits));
}
