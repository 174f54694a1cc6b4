/** Every file and every test that the documents name exists. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const DOCS = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".md"),
);

/** A file of the repository, and the titles of its tests that follow it in the page. */
const NAMED = /`((?:edge|control|shared|infra|test|docs)\/[\w./-]+)`((?:\s+"[^"|]+")*)/g;

describe.each(DOCS)("docs/%s", (name) => {
  const named = [...readFileSync(join(ROOT, "docs", name), "utf8").matchAll(NAMED)].map(
    ([, path = "", titles = ""]) => ({
      path: join(ROOT, path),
      titles: [...titles.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => title),
    }),
  );

  it("names files that exist", () => {
    expect(named.map(({ path }) => path).filter((path) => !existsSync(path))).toEqual([]);
  });

  it("names tests that stand in their file", () => {
    const missing = named.flatMap(({ path, titles }) =>
      titles.filter((title) => !existsSync(path) || !readFileSync(path, "utf8").includes(title)),
    );
    expect(missing).toEqual([]);
  });
});
