import { describe, expect, it } from "vitest";
import { hasDevPackages, onlyMissing, staleReasons } from "./lock-state.mjs";

const linux = { os: "linux", cpu: "x64", libc: "glibc" };
const one = { "node_modules/a": { version: "1.0.0", integrity: "sha512-x" } };

describe("staleReasons", () => {
  it("requires an install when there was none", () => {
    expect(staleReasons({ packages: one }, undefined, linux)).toEqual(["nothing is installed yet"]);
    expect(staleReasons({ packages: one }, {}, linux)).toHaveLength(1);
  });

  it("accepts the packages of the lock, and further ones", () => {
    const extra = { ...one, "node_modules/b": { version: "9.0.0" } };
    expect(staleReasons({ packages: { "": { version: "7.7.7" }, ...one } }, { packages: extra }, linux)).toEqual([]);
  });

  it("names a missing and a different package", () => {
    const installed = { packages: { "node_modules/a": { version: "1.0.1" } } };
    const lock = { packages: { ...one, "node_modules/c": { version: "2.0.0" } } };
    expect(staleReasons(lock, installed, linux)).toEqual([
      "node_modules/a is 1.0.1, not 1.0.0",
      "node_modules/c is missing",
    ]);
  });

  it("requires development packages if wanted, and the right version of any that is installed", () => {
    const lock = { packages: { ...one, "node_modules/d": { version: "1.0.0", dev: true } } };
    expect(staleReasons(lock, { packages: one }, linux)).toEqual(["node_modules/d is missing"]);
    expect(staleReasons(lock, { packages: one }, linux, { omitDev: true })).toEqual([]);
    const older = { packages: { ...one, "node_modules/d": { version: "0.9.0", dev: true } } };
    expect(staleReasons(lock, older, linux, { omitDev: true })).toEqual(["node_modules/d is 0.9.0, not 1.0.0"]);
    expect({ withoutDev: hasDevPackages(lock, { packages: one }), withDev: hasDevPackages(lock, older) }).toEqual({
      withoutDev: false,
      withDev: true,
    });
    expect(hasDevPackages(lock, undefined)).toBe(false);
  });

  it("requires a fresh folder after an interrupted installation, even if it looks complete", () => {
    const reasons = staleReasons({ packages: one }, { packages: one }, linux, { cutOff: true });
    expect({ reasons, onlyMissing: onlyMissing(reasons) }).toEqual({
      reasons: ["an earlier installation was cut off"],
      onlyMissing: false,
    });
    expect(onlyMissing(["node_modules/a is missing"])).toBe(true);
  });

  it("distinguishes platform packages of this machine from those of another", () => {
    const platform = (os: string, cpu: string, more = {}) => ({
      version: "1.0.0",
      optional: true,
      os: [os],
      cpu: [cpu],
      integrity: "sha512-x",
      ...more,
    });
    const missing = (entry: object) =>
      staleReasons({ packages: { "node_modules/p": entry } }, { packages: {} }, linux).length;
    expect(missing(platform("linux", "x64"))).toBe(1);
    expect(missing(platform("!win32", "x64"))).toBe(1);
    expect(missing(platform("darwin", "x64"))).toBe(0);
    expect(missing(platform("!linux", "x64"))).toBe(0);
    expect(missing(platform("linux", "arm64"))).toBe(0);
    expect(missing(platform("linux", "x64", { libc: ["musl"] }))).toBe(0);
    expect(missing(platform("linux", "x64", { libc: "glibc" }))).toBe(1);
    expect(missing({ version: "1.0.0", optional: true })).toBe(0);
    expect(missing({ ...platform("linux", "x64"), integrity: undefined })).toBe(0);
  });
});
