/** The picker offers each zone once, and a name that is no zone's is UTC. */
import { describe, expect, it } from "vitest";
import { chosenZone, daysZoneLabel, usableZone, zoneLabel, zoneOptions } from "./zones.ts";

const WINTER_MS = Date.UTC(2026, 0, 15);
const SUMMER_MS = Date.UTC(2026, 6, 15);

describe("zoneOptions", () => {
  it("has the tenant's zone first, then the browser's, then UTC", () => {
    const options = zoneOptions("Asia/Kolkata", "America/Los_Angeles", SUMMER_MS);
    expect(options.map(({ choice, label }) => [choice, label])).toEqual([
      ["tenant", "Tenant: Asia/Kolkata (UTC+05:30)"],
      ["browser", "Browser: America/Los_Angeles (UTC-07:00)"],
      ["utc", "UTC"],
    ]);
  });

  it("lists a zone once, UTC under whatever name", () => {
    expect(zoneOptions("Asia/Kolkata", "Asia/Kolkata", 0).map(({ choice }) => choice)).toEqual(["tenant", "utc"]);
    expect(zoneOptions(null, "Etc/UTC", 0)).toEqual([{ choice: "browser", zone: "UTC", label: "Browser: UTC" }]);
  });
});

describe("chosenZone", () => {
  const options = zoneOptions("Asia/Kolkata", "Asia/Tokyo", 0);
  it("is the chosen one's, and the first one's when there is no such choice", () => {
    expect(chosenZone(options, "browser")).toBe("Asia/Tokyo");
    expect(chosenZone(options, null)).toBe("Asia/Kolkata");
    expect(chosenZone(zoneOptions(null, "Asia/Tokyo", 0), "tenant")).toBe("Asia/Tokyo");
    expect(chosenZone([], "utc")).toBe("UTC");
  });
});

describe("offsets", () => {
  it("are those of the instant", () => {
    expect(zoneLabel("Australia/Lord_Howe", WINTER_MS)).toBe("Australia/Lord_Howe (UTC+11:00)");
    expect(zoneLabel("Australia/Lord_Howe", SUMMER_MS)).toBe("Australia/Lord_Howe (UTC+10:30)");
    expect(zoneLabel("Europe/London", WINTER_MS)).toBe("Europe/London (UTC+00:00)");
    expect(zoneLabel("Asia/Kolkata", WINTER_MS)).toBe("Asia/Kolkata (UTC+05:30)");
  });

  it.each([
    ["America/Los_Angeles", "2026-07-01T07:00Z", "2026-08-01T07:00Z", "America/Los_Angeles (UTC-07:00)"],
    // the clocks change on 1 November, in the first night of the month
    ["America/Los_Angeles", "2026-10-01T07:00Z", "2026-11-01T07:00Z", "America/Los_Angeles (UTC-07:00)"],
    ["America/Los_Angeles", "2026-11-01T07:00Z", "2026-12-01T08:00Z", "America/Los_Angeles"],
    ["America/Los_Angeles", "2026-12-01T08:00Z", "2027-01-01T08:00Z", "America/Los_Angeles (UTC-08:00)"],
    ["UTC", "2026-11-01T00:00Z", "2026-12-01T00:00Z", "UTC"],
  ])("of days of %s from %s to %s are theirs: %s", (zone, from, to, label) => {
    expect(daysZoneLabel(zone, { fromMs: Date.parse(from), toMs: Date.parse(to) })).toBe(label);
  });

  it.each(["Atlantis/Nowhere", "__proto__", "", "\ud800"])("%j counts as UTC", (name) => {
    expect(usableZone(name)).toBe("UTC");
    expect(zoneLabel(name, WINTER_MS)).toBe("UTC");
  });
});
