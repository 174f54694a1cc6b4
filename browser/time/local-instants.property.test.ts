/** What is typed by the clock of a zone is the instant that this clock shows. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { instantAt, localOf } from "./local-instants.ts";

const zone = fc.constantFrom("UTC", "Asia/Kolkata", "America/Los_Angeles", "Australia/Lord_Howe", "Atlantis/Nowhere");
const second = fc.integer({ min: Date.UTC(2000, 0, 1) / 1000, max: Date.UTC(2049, 11, 31) / 1000 });

describe("local instants", () => {
  it("read back as they are shown; of a time that comes twice the first", () => {
    fc.assert(
      fc.property(zone, second, (name, secs) => {
        const local = localOf(name, secs * 1000);
        const back = instantAt(name, local);
        expect(localOf(name, back)).toBe(local);
        expect(back).toBeLessThanOrEqual(secs * 1000);
      }),
    );
  });

  it("are correct when clocks change", () => {
    expect(instantAt("America/Los_Angeles", "2026-11-01T01:30")).toBe(Date.parse("2026-11-01T08:30:00Z"));
    expect(instantAt("America/Los_Angeles", "2026-03-08T02:30")).toBe(Date.parse("2026-03-08T10:30:00Z"));
    expect(instantAt("Asia/Kolkata", "2026-11-23T01:42:07")).toBe(Date.parse("2026-11-22T20:12:07Z"));
  });

  it.each(["", "2026-02-30T00:00", "2026-11-23", "yesterday", "99999-01-01T00:00"])("%j is not one", (local) => {
    expect(instantAt("UTC", local)).toBeNull();
  });

  it("are empty for what is no instant", () => {
    expect([null, Number.NaN, 1e308].map((value) => localOf("UTC", value))).toEqual(["", "", ""]);
  });
});
