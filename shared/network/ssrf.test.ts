import { describe, expect, it } from "vitest";
import { isAddressAllowed, isUrlAllowed, reopenedRanges } from "./ssrf.ts";
import { parseUpstreamUrl } from "./upstream-url.ts";

const open = { blockPrivate: false, allowedCidrs: [] };
const closed = { blockPrivate: true, allowedCidrs: ["10.1.0.0/16", "169.254.0.0/16"] };

describe("address policy", () => {
  it.each([
    "169.254.169.254",
    "fe80::1",
    "[fe80::1]",
    "fd00:ec2::254",
    "0.0.0.0",
    "::",
    "255.255.255.255",
    "224.0.0.1",
    "::ffff:169.254.169.254",
    "203.0.113.7",
    "64:ff9b::169.254.169.254",
    "2002:a9fe:a9fe::1",
    "64:ff9b:1::a00:1",
    "::ffff:0:10.0.0.1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "fec0::1",
    "192.0.0.192",
    "168.63.129.16",
    "100.100.100.200",
    "fd20:ce::254",
    "3fff::1",
    "64:ff9b::100.100.100.200",
    "fe80::1%eth0",
    "::169.254.169.254",
    "not-an-address",
  ])("%s is refused by any policy", (address) => {
    expect(isAddressAllowed(address, open)).toBe(false);
    expect(isAddressAllowed(address, closed)).toBe(false);
  });

  it.each([
    "127.0.0.1",
    "10.0.0.1",
    "172.16.3.4",
    "192.168.1.1",
    "100.64.0.1",
    "198.19.255.255",
    "240.0.0.1",
    "fc00::1",
    "::1",
    "::ffff:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "2002:0a00:0001::1",
  ])("%s is private: allowed unless blocked", (address) => {
    expect(isAddressAllowed(address, open)).toBe(true);
    expect(isAddressAllowed(address, closed)).toBe(false);
  });

  it("reopens listed private ranges, and only those", () => {
    expect(isAddressAllowed("10.1.2.3", closed)).toBe(true);
    expect(isAddressAllowed("10.2.2.3", closed)).toBe(false);
    expect(isAddressAllowed("::ffff:10.1.2.3", closed)).toBe(true);
    expect(isAddressAllowed("8.8.8.8", closed)).toBe(true);
    expect(isAddressAllowed("64:ff9b::8.8.8.8", closed)).toBe(true);
    expect(isAddressAllowed("2606:4700::1111", closed)).toBe(true);
  });

  it("reopens only the private parts of a list", () => {
    expect(reopenedRanges(["10.1.0.0/16", "fd12::/16", "127.0.0.1/32", "10.1.0.0/16"])).toEqual([
      "10.1.0.0/16",
      "fd12::/16",
      "127.0.0.1/32",
    ]);
    expect(reopenedRanges(["8.8.8.0/24", "169.254.169.254/32", "fd00:ec2::254/128", "fe80::/10"])).toEqual([]);
    expect(reopenedRanges(["0.0.0.0/0"])).toEqual([
      "10.0.0.0/8",
      "172.16.0.0/12",
      "192.168.0.0/16",
      "127.0.0.0/8",
      "100.64.0.0/10",
      "198.18.0.0/15",
      "240.0.0.0/4",
    ]);
  });

  it("checks a URL whose address is literal, however it is written", () => {
    for (const url of ["http://10.1.2.3/v1", "https://api.example.com/v1", "http://[2606:4700::1111]:8080/v1"])
      expect({ url, isUrlAllowed: isUrlAllowed(url, closed) }).toEqual({ url, isUrlAllowed: true });
    for (const url of [
      "http://127.0.0.1:8081/v1",
      "http://127.1/v1",
      "http://0x7f000001/v1",
      "http://[::ffff:127.0.0.1]/v1",
      "http://169.254.169.254/latest",
      "http://10.2.0.1./v1",
      "ftp://8.8.8.8/v1",
      "http://user@8.8.8.8/v1",
      "nonsense",
    ])
      expect({ url, isUrlAllowed: isUrlAllowed(url, closed) }).toEqual({ url, isUrlAllowed: false });
    expect(isUrlAllowed("http://127.0.0.1:8081/v1", open)).toBe(true);
  });

  it("accepts http and https URLs without user info", () => {
    expect(parseUpstreamUrl("ftp://h/v1")).toBe("must be an http or https URL");
    expect(parseUpstreamUrl("nonsense")).toBe("must be an http or https URL");
    expect(parseUpstreamUrl("http://u:p@h/v1")).toBe("must not contain user info");
    expect(String(parseUpstreamUrl("https://h/v1#part"))).toBe("https://h/v1");
  });
});
