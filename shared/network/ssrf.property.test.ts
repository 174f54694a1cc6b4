/**
 * The address policy against an independently written list, checked by another implementation (Node's BlockList).
 *
 * @module-tag check
 */
import { BlockList, isIPv6 } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { carriedRanges, isAddressAllowed, isUrlAllowed, reopenedRanges } from "./ssrf.ts";

/**
 * Which addresses may be called (docs/rules/network-safety.md#address-policy,
 * docs/rules/network-safety.md#always-blocked).
 */
const BLOCKED = [
  "169.254.0.0/16",
  "0.0.0.0/8",
  "255.255.255.255/32",
  "224.0.0.0/4",
  "192.0.2.0/24",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "192.0.0.0/24",
  "168.63.129.16/32",
  "100.100.100.200/32",
  "fe80::/10",
  "fd00:ec2::254/128",
  "::/128",
  "ff00::/8",
  "2001:db8::/32",
  "3fff::/20",
  "64:ff9b:1::/48",
  "::ffff:0:0:0/96",
  "2001::/32",
  "fec0::/10",
  "fd20:ce::/32",
];
const PRIVATE = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "127.0.0.0/8",
  "100.64.0.0/10",
  "198.18.0.0/15",
  "240.0.0.0/4",
  "fc00::/7",
  "::1/128",
];

function listOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = "", bits] = cidr.split("/");
    list.addSubnet(address, Number(bits), isIPv6(address) ? "ipv6" : "ipv4");
  }
  return list;
}

/** An address by its bits. */
type Bits = { readonly family: 4 | 6; readonly value: bigint };

const dotted = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
const groups = (value: bigint): string =>
  Array.from({ length: 8 }, (_, at) => ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16)).join(":");
const textOf = ({ family, value }: Bits): string => (family === 4 ? dotted(value) : groups(value));

/** What an IPv6 address leads to, at most one IPv4 address: mapped, NAT64, 6to4, compatible. */
function leadsTo(value: bigint): bigint | null {
  const low = value & 0xffffffffn;
  if (value >> 32n === 0xffffn || value >> 32n === 0x0064ff9bn << 64n) return low;
  if (value >> 112n === 0x2002n) return (value >> 80n) & 0xffffffffn;
  return value >> 32n === 0n && low >> 24n !== 0n ? low : null;
}

function isAllowed(bits: Bits, blockPrivate: boolean, allowed: readonly string[]): boolean {
  const [always, closed, reopened] = [listOf(BLOCKED), listOf(PRIVATE), listOf(allowed)];
  const one = (each: Bits): boolean => {
    const [text, family] = [textOf(each), each.family === 4 ? "ipv4" : "ipv6"] as const;
    if (always.check(text, family)) return false;
    return !blockPrivate || !closed.check(text, family) || reopened.check(text, family);
  };
  const carried = bits.family === 6 ? leadsTo(bits.value) : null;
  const isMapped = bits.family === 6 && bits.value >> 32n === 0xffffn;
  return (isMapped || one(bits)) && (carried === null || one({ family: 4, value: carried }));
}

/** Addresses anywhere, and at the edges of every range. */
function edges(cidrs: readonly string[], family: 4 | 6): readonly bigint[] {
  const width = family === 4 ? 32n : 128n;
  const max = (1n << width) - 1n;
  return cidrs
    .filter((cidr) => cidr.includes(":") === (family === 6))
    .flatMap((cidr) => {
      const [text = "", bits = "0"] = cidr.split("/");
      const value = family === 4 ? valueOf4(text) : valueOf6(text);
      const size = 1n << (width - BigInt(bits));
      return [value - 1n, value, value + size / 2n, value + size - 1n, value + size].filter(
        (at) => at >= 0n && at <= max,
      );
    });
}
const valueOf4 = (text: string): bigint => text.split(".").reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
function valueOf6(text: string): bigint {
  const [head = "", tail] = text.split("::");
  const words = (part: string): string[] => part.split(":").filter((word) => word !== "");
  const [front, back] = [words(head), words(tail ?? "")];
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => "0");
  return [...front, ...zeros, ...back].reduce((sum, word) => (sum << 16n) | BigInt(`0x${word}`), 0n);
}

const ipv4 = fc
  .oneof(fc.bigInt({ min: 0n, max: 0xffffffffn }), fc.constantFrom(...edges([...BLOCKED, ...PRIVATE], 4)))
  .map((value): Bits => ({ family: 4, value }));
const carrying = ipv4.chain(({ value }) =>
  fc.constantFrom<Bits>(
    { family: 6, value: (0xffffn << 32n) | value },
    { family: 6, value: (0x0064ff9bn << 96n) | value },
    { family: 6, value: (0x2002n << 112n) | (value << 80n) | 1n },
    { family: 6, value },
    { family: 6, value: (0xffffn << 48n) | value },
  ),
);
const ipv6 = fc
  .oneof(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), fc.constantFrom(...edges([...BLOCKED, ...PRIVATE], 6)))
  .map((value): Bits => ({ family: 6, value }));
const address = fc.oneof(ipv4, carrying, ipv6);

/** The ways to write an IPv6 address. */
const spelled = (bits: Bits): readonly string[] => {
  const text = textOf(bits);
  if (bits.family === 4) return [text];
  const compressed = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const mixed = `${groups(bits.value).split(":").slice(0, 6).join(":")}:${dotted(bits.value & 0xffffffffn)}`;
  return [text, text.toUpperCase(), compressed, mixed, `[${text}]`, `${compressed}%eth0`];
};

describe("the address policy", () => {
  it("agrees with the list, for every address and every way to write it", () => {
    fc.assert(
      fc.property(address, fc.boolean(), (bits, blockPrivate) => {
        for (const allowedCidrs of [[], ["10.1.0.0/16", "fd12::/16", "169.254.0.0/16", "100.64.0.0/10"]]) {
          const expected = isAllowed(bits, blockPrivate, allowedCidrs);
          for (const text of spelled(bits))
            expect({ text, isAddressAllowed: isAddressAllowed(text, { blockPrivate, allowedCidrs }) }).toEqual({
              text,
              isAddressAllowed: expected,
            });
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("checks a URL in the same way, however its IPv4 address is written", () => {
    const part = (value: bigint, base: number): string =>
      base === 16 ? `0x${value.toString(16)}` : base === 8 ? `0${value.toString(8)}` : value.toString();
    const spelling = fc.record({
      base: fc.constantFrom(8, 10, 16),
      parts: fc.integer({ min: 1, max: 4 }),
      dot: fc.boolean(),
    });
    fc.assert(
      fc.property(ipv4, spelling, fc.boolean(), (bits, { base, parts, dot }, blockPrivate) => {
        const bytes = [24n, 16n, 8n, 0n].map((shift) => (bits.value >> shift) & 255n);
        const first = bytes.slice(0, parts - 1).map((byte) => part(byte, base));
        const rest = bytes.slice(parts - 1).reduce((sum, byte) => (sum << 8n) | byte, 0n);
        const host = `${[...first, part(rest, base)].join(".")}${dot ? "." : ""}`;
        const policy = { blockPrivate, allowedCidrs: [] };
        expect({ host, isUrlAllowed: isUrlAllowed(`http://${host}:8080/v1`, policy) }).toEqual({
          host,
          isUrlAllowed: isAllowed(bits, blockPrivate, []),
        });
      }),
      { numRuns: 2_000 },
    );
  });

  it("agrees with a network configuration: carried ranges hold exactly what leads to a range", () => {
    fc.assert(
      fc.property(carrying, (bits) => {
        if (bits.value >> 32n === 0xffffn) return;
        const carried = leadsTo(bits.value);
        const denied = listOf([...BLOCKED, ...carriedRanges(BLOCKED)]);
        const inList = carried !== null && listOf(BLOCKED).check(dotted(carried), "ipv4");
        expect(denied.check(textOf(bits), "ipv6")).toBe(inList || listOf(BLOCKED).check(textOf(bits), "ipv6"));
      }),
      { numRuns: 1_000 },
    );
  });

  it("never reopens an address that is always blocked, whatever the list says", () => {
    const cidr = fc
      .tuple(address, fc.integer({ min: 0, max: 128 }))
      .map(([bits, length]) => `${textOf(bits)}/${Math.min(length, bits.family === 4 ? 32 : 128)}`);
    fc.assert(
      fc.property(fc.array(cidr, { maxLength: 4 }), address, (allowedCidrs, bits) => {
        const text = textOf(bits);
        if (listOf(BLOCKED).check(text, bits.family === 4 ? "ipv4" : "ipv6"))
          expect(isAddressAllowed(text, { blockPrivate: true, allowedCidrs })).toBe(false);
        expect(reopenedRanges(allowedCidrs).filter((range) => BLOCKED.includes(range))).toEqual([]);
      }),
    );
  });
});
