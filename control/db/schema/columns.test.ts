import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { parseShownTime } from "./columns.ts";

it.each([
  ["2026-11-21 08:00:00+00", "2026-11-21T08:00:00.000Z"],
  ["2026-11-21 08:00:00.123456+00", "2026-11-21T08:00:00.123Z"],
  ["2026-11-21 08:00:00.5+05:30", "2026-11-21T02:30:00.500Z"],
  ["2026-11-21 08:00:00-08", "2026-11-21T16:00:00.000Z"],
  ["0001-01-01 00:00:00+00", "0001-01-01T00:00:00.000Z"],
  ["0001-01-01 01:05:21+01:05:21", "0001-01-01T00:00:00.000Z"],
  ["0001-12-31 19:03:58-04:56:02 BC", "0001-01-01T00:00:00.000Z"],
  ["1880-06-01 00:00:00-04:56:02", "1880-06-01T04:56:02.000Z"],
  ["10000-01-01 08:59:59.999+09", "9999-12-31T23:59:59.999Z"],
])("the database's %j is %s", (text, utc) => {
  expect(parseShownTime(text).toISOString()).toBe(utc);
});

it("what is no time of the database is no time", () => {
  for (const text of ["", "infinity", "2026-11-21T08:00:00Z", "0044-03-15 00:00:00+00 AD"])
    expect(() => parseShownTime(text)).toThrow("unknown format");
});

it("does not depend on the zone of this process", async () => {
  const code = `import { parseShownTime } from ${JSON.stringify(new URL("columns.ts", import.meta.url).href)};
    process.stdout.write(parseShownTime("1880-06-01 00:00:00+00").toISOString());`;
  const env = { ...process.env, TZ: "America/New_York" };
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], { env });
  expect(stdout).toBe("1880-06-01T00:00:00.000Z");
});
