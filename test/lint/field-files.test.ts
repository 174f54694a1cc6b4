/**
 * How many files a new field of a tenant touches: docs/contributing.md#add-a-tenant-field lists them. The fields that the
 * page takes as examples must be in exactly these files, so that the page stays right and a field never needs more files.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** Gives a tenant values, as an admin does. */
const MAKES_TENANTS = "control/services/benchmarks/benchmark-tenant.ts";

/** Everything that could contain a field, without tests and what only tests use. */
const FILES = globSync("{edge,control,shared,infra}/**/*.{ts,mjs,sql,json}", {
  cwd: ROOT,
  exclude: ["**/*.test.ts", "**/*.test-helper.ts", "**/testing/**", "**/node_modules/**", MAKES_TENANTS],
});

const SECTION = "## Add a tenant field\n";

/**
 * The numbered lists of the section: for each list the first path of each item. A path that ends with a slash is a folder.
 */
function listedPaths(): readonly (readonly string[])[] {
  const page = readFileSync(join(ROOT, "docs/contributing.md"), "utf8");
  const [, after = ""] = page.split(SECTION);
  const [section = ""] = after.split("\n## ");
  const lists: string[][] = [];
  for (const point of section.split(/\n(?=\d+\. )/).slice(1)) {
    const path = /`((?:edge|control|shared|infra)\/[\w./-]+)`/.exec(point)?.[1];
    if (point.startsWith("1. ")) lists.push([]);
    if (path !== undefined) lists.at(-1)?.push(path);
  }
  return lists;
}

/** The files that contain the field's name as a word of code or SQL. `"x"` and `a-x` are words of something else. */
function filesWith(field: string): readonly string[] {
  const word = new RegExp(String.raw`(?<![\w"-])${field}(?!\w)`);
  return FILES.filter((file) => word.test(readFileSync(join(ROOT, file), "utf8")) || file.includes(`-${field}.`));
}

describe.each([
  { kind: "plain", field: "organization", list: 0, most: 6 },
  { kind: "live", field: "synthetic", list: 1, most: 9 },
])("a $kind field of a tenant", ({ field, list, most }) => {
  const listed = listedPaths()[list] ?? [];
  const isListed = (file: string) =>
    listed.some((path) => (path.endsWith("/") ? file.startsWith(path) : file === path));

  it(`touches at most ${most} files`, () => {
    expect(listed.length).toBeGreaterThan(0);
    expect(listed.length).toBeLessThanOrEqual(most);
    expect(filesWith(field).length).toBeLessThanOrEqual(most);
  });

  it("stands in the files that the page lists, and in no other", () => {
    const found = filesWith(field);
    expect(found.filter((file) => !isListed(file))).toEqual([]);
    const holds = (path: string) => found.some((file) => (path.endsWith("/") ? file.startsWith(path) : file === path));
    expect(listed.filter((path) => !holds(path))).toEqual([]);
  });
});
