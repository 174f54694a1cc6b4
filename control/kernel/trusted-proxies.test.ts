/** Whose `x-forwarded-*` headers count (docs/tls-and-fronts.md). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type TrustedProxies, trustedProxiesField } from "./trusted-proxies.ts";

const schema = z.object({ GATEWAY_TRUSTED_PROXIES: trustedProxiesField });
const trusting = (text: string): TrustedProxies =>
  schema.parse({ GATEWAY_TRUSTED_PROXIES: text }).GATEWAY_TRUSTED_PROXIES;

const PROXIES = trusting(" 10.0.0.0/8, 192.0.2.7 ,2001:db8::/32,,::1");

describe("the client's address", () => {
  it.each([
    ["nothing is said", "10.0.0.1", undefined, "10.0.0.1"],
    ["nothing is in the header", "10.0.0.1", "", "10.0.0.1"],
    ["one proxy says it", "10.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["a client wrote one before", "10.0.0.1", "1.2.3.4, 203.0.113.9", "203.0.113.9"],
    ["a client wrote a proxy's", "10.0.0.1", "10.0.0.2, 203.0.113.9", "203.0.113.9"],
    ["several proxies say it", "10.0.0.1", "1.2.3.4, 203.0.113.9, 10.2.2.2,192.0.2.7", "203.0.113.9"],
    ["all of them are proxies", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["the peer is no proxy", "203.0.113.1", "1.2.3.4", "203.0.113.1"],
    ["the peer is beside a proxy", "192.0.2.8", "1.2.3.4", "192.0.2.8"],
    ["the peer is IPv4 in IPv6", "::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["the peer is IPv4 in IPv6, and no proxy", "::ffff:203.0.113.1", "1.2.3.4", "203.0.113.1"],
    ["the peer is IPv6", "2001:db8::5", "203.0.113.9", "203.0.113.9"],
    ["it has a port", "10.0.0.1", "203.0.113.9:4711", "203.0.113.9"],
    ["it is IPv6", "10.0.0.1", "2001:DB9:0::1", "2001:db9::1"],
    ["it is IPv6 in brackets", "10.0.0.1", "[2001:db9::1]", "2001:db9::1"],
    ["it is IPv6 in brackets with a port", "10.0.0.1", "[2001:db9::1]:443", "2001:db9::1"],
    ["it is IPv4 in IPv6", "10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"],
    ["it has a zone", "10.0.0.1", "203.0.113.9, fe80::1%eth0\u001b[31m", "10.0.0.1"],
    ["it is empty", "10.0.0.1", "203.0.113.9, ", "10.0.0.1"],
    ["it is a word", "10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"],
    ["it is a short form", "10.0.0.1", "203.0.113.9, 127.1", "10.0.0.1"],
    ["it is octal or too large", "10.0.0.1", "203.0.113.9, 300.0.0.1", "10.0.0.1"],
    ["a word is before a proxy", "10.0.0.1", "<script>, 10.0.0.9", "10.0.0.9"],
  ])("when %s", (_, peer, header, client) => {
    expect(PROXIES.clientOf(peer, header)).toBe(client);
  });

  it("is the peer's, whatever a header says, when nobody is listed", () => {
    for (const peer of ["127.0.0.1", "10.0.0.1", "::1"])
      expect(trusting("").clientOf(peer, "1.2.3.4, 10.0.0.1")).toBe(peer);
  });

  it("is found in a header of ten thousand entries; a chain of proxies is followed to a limit", () => {
    const many = Array.from({ length: 10_000 }, () => "1.2.3.4").join(", ");
    expect(PROXIES.clientOf("10.0.0.1", `${many}, 203.0.113.9`)).toBe("203.0.113.9");
    const proxies = Array.from({ length: 10_000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`).join(",");
    expect(PROXIES.clientOf("10.0.0.1", proxies)).toMatch(/^10\.0\.38\./);
  });

  it("is never one that only untrusted peers have written, and always an address", () => {
    const text = fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.constantFrom("10.0.0.1", "[::1]", "%", " "));
    fc.assert(
      fc.property(fc.array(text), fc.ipV4(), (written, real) => {
        const client = PROXIES.clientOf("10.0.0.1", [...written, real].join(","));
        if (real.startsWith("10.") || real === "192.0.2.7") expect(client).toMatch(/^[\da-f:.]+$/);
        else expect(client).toBe(real);
      }),
    );
  });
});

it.each([
  "10.0.0.0/33",
  "10.0.0.0/8/8",
  "10.0.0.0/",
  "10.0.0.0/-1",
  "10.1",
  "0x0a000001",
  "proxy.internal",
  "[::1]",
  "::1/129",
  "fe80::1%eth0",
  "10.0.0.1:80",
  "::ffff:10.0.0.0/104",
  "10.0.0.1 10.0.0.2",
])("a list with %s is refused by name, without it", (item) => {
  const { error } = schema.safeParse({ GATEWAY_TRUSTED_PROXIES: `192.0.2.1,${item}` });
  expect(error?.issues.map(({ path, message }) => [path, message])).toEqual([
    [
      ["GATEWAY_TRUSTED_PROXIES"],
      "must be addresses and CIDRs of proxies, separated by commas, such as 10.0.7.0/28,192.0.2.7",
    ],
  ]);
});

it.each(["0.0.0.0/0", "::/0", "10.0.0.1/0"])("a list with %s would trust every client, and is refused", (range) => {
  expect(schema.safeParse({ GATEWAY_TRUSTED_PROXIES: range }).error?.issues[0]?.message).toMatch(/^must not contain/);
});
