/**
 * Checks how many files a new field of a tenant or of a usage row, or a new limit per minute, touches. The sample fields of
 * docs/contributing.md must be in exactly the files that the page lists. Files that have a sample's name for another reason are
 * left out: they are named below.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** Gives a tenant values, as an admin does. */
const MAKES_TENANTS = "control/models/benchmarks/benchmark-tenant.ts";
/** Names of fields and headers of clients. */
const OF_CLIENTS = ["edge/domain/request/steering-fields.ts", "edge/domain/upstream/headers.ts"];
/** A statement prints the name and organization of its tenant. */
const STATEMENT = ["browser/pages/reports/statement-page.tsx", "browser/messages/en/reports.ts"];

/** Everything in some rooms that could contain a field, without tests and what only tests use. */
const filesOf = (rooms: string): readonly string[] =>
  globSync(`{${rooms}}/**/*.{ts,tsx,mjs,sql,json}`, {
    cwd: ROOT,
    exclude: [
      "**/*.test.ts",
      "**/*.test-helper.ts",
      "**/*.generated.ts",
      "**/testing/**",
      "**/node_modules/**",
      MAKES_TENANTS,
      ...OF_CLIENTS,
    ],
  });

const FILES = filesOf("edge,control,shared,infra,browser").filter((file) => !STATEMENT.includes(file));

/**
 * The numbered lists of a section: for each list the first path of each item. A path that ends with a slash is a folder.
 */
function listedPaths(title: string): readonly (readonly string[])[] {
  const page = readFileSync(join(ROOT, "docs/contributing.md"), "utf8");
  const [, after = ""] = page.split(`## ${title}\n`);
  const [section = ""] = after.split("\n## ");
  const lists: string[][] = [];
  for (const point of section.split(/\n(?=\d+\. )/).slice(1)) {
    const path = /`((?:edge|control|shared|infra|browser)\/[\w./-]+)`/.exec(point)?.[1];
    if (point.startsWith("1. ")) lists.push([]);
    if (path !== undefined) lists.at(-1)?.push(path);
  }
  return lists;
}

/**
 * The files that contain the field's name as a word of code or SQL. `"x"` and `a-x` are words of something else in the data
 * plane; pages name fields as `"x"`, and have sentences with the word.
 */
function filesWith(field: string): readonly string[] {
  const word = new RegExp(String.raw`(?<![\w"-])${field}(?!\w)`);
  const wordOfPage = new RegExp(String.raw`"${field}"|\b${field}(?=\s*[:,})])`);
  return FILES.filter((file) => {
    const isPage = file.startsWith("browser/");
    return (isPage ? wordOfPage : word).test(readFileSync(join(ROOT, file), "utf8")) || file.includes(`-${field}.`);
  });
}

const isAt = (file: string) => (path: string) => (path.endsWith("/") ? file.startsWith(path) : file === path);

describe.each([
  { kind: "plain", field: "organization", list: 0, most: 5 },
  { kind: "live", field: "synthetic", list: 1, most: 11 },
])("a $kind field of a tenant", ({ field, list, most }) => {
  const listed = listedPaths("Add a tenant field")[list] ?? [];
  const isListed = (file: string) => listed.some(isAt(file));

  it(`touches at most ${most} files`, () => {
    expect(listed.length).toBeGreaterThan(0);
    expect(listed.length).toBeLessThanOrEqual(most);
    expect(filesWith(field).length).toBeLessThanOrEqual(most);
  });

  it("is in the files that the page lists, and in no other", () => {
    const found = filesWith(field);
    expect(found.filter((file) => !isListed(file))).toEqual([]);
    expect(listed.filter((path) => !found.some((file) => isAt(file)(path)))).toEqual([]);
  });
});

describe("a limit per minute of tenants and keys", () => {
  const listed = listedPaths("Add a limit per minute")[0] ?? [];

  it("is in the nine files that the page lists first, and touches at most eleven", () => {
    const names = /requests_?per_?minute|request_rate_exceeded/i;
    const found = filesOf("edge,control,shared,infra,browser").filter((file) =>
      names.test(readFileSync(join(ROOT, file), "utf8")),
    );
    const always = listed.slice(0, 9);
    expect(found.filter((file) => !always.some(isAt(file)))).toEqual([]);
    expect(always.filter((path) => !found.some((file) => isAt(file)(path)))).toEqual([]);
    expect(listed).toHaveLength(11);
  });
});

describe("a field of the usage row", () => {
  const listed = listedPaths("Add a field of the usage row")[0] ?? [];

  it("is in the files that the page lists, and touches at most four", () => {
    const found = filesOf("edge,control,shared,infra,browser").filter((file) =>
      /\binput_seconds\b|\bfactSeconds\b/.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(found.toSorted()).toEqual(listed.toSorted());
    expect(listed).toHaveLength(4);
  });
});
