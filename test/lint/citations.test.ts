/** Code cites headings of the documents in this repository, and nothing else that a reader of it does not have. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { anchorsOf, type CitationFault, citationFaults, type TextFile } from "./citations.ts";

const ROOT = join(import.meta.dirname, "../..");
const FIXTURES = "test/lint/fixtures/";
/** Kept apart from the names of pages, so that this file itself cites no page that does not exist. */
const RULES = "docs/rules";
const FOLDERS = ["edge", "control", "shared", "infra", "test", "docs"];
const TEXTS = /\.(?:ts|mts|js|mjs|json|jsonc|toml|md|yaml|yml)$/;
const NOT_OURS = /(?:^|\/)node_modules\/|^package-lock\.json$|\.generated\.ts$/;

function read(path: string): TextFile {
  return { path, text: readFileSync(join(ROOT, path), "utf8") };
}

const below = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
);
const files = [...readdirSync(ROOT), ...below]
  .filter((path) => TEXTS.test(path) && !NOT_OURS.test(path) && statSync(join(ROOT, path)).isFile())
  .map(read);
const pages = new Map(
  files.filter(({ path }) => path.endsWith(".md")).map(({ path, text }) => [path, anchorsOf(text)] as const),
);
const targets = { pages, exists: (path: string): boolean => existsSync(join(ROOT, path)) };

const said = ({ path, line, cited, fault }: CitationFault): string => `${path}:${line} ${cited}: ${fault}`;

describe("citations", () => {
  it("of code and documents are of headings that exist", () => {
    const faults = citationFaults(
      files.filter(({ path }) => !path.startsWith(FIXTURES)),
      targets,
    );
    expect(faults.map(said)).toEqual([]);
  });

  it("of anything else are found", () => {
    const bad = citationFaults([read(`${FIXTURES}citations/cites.ts`), read(`${FIXTURES}citations/page.md`)], targets);
    expect(bad.map(({ line, cited, fault }) => `${line} ${cited}: ${fault}`)).toEqual([
      `2 ${RULES}/budgets.md#wallets: no such heading`,
      `3 ${RULES}/purses.md#leases: no such file`,
      "4 \u00a719.2: a section of a document that is not in the repository",
      "5 #another-heading: no such heading",
      "6 ../gone.md: no such file",
      `7 ../../../../${RULES}/budgets.md#wallets: no such heading`,
      `8 ${RULES}/purses.md: no such file`,
    ]);
  });

  it("know the anchors of headings as GitHub makes them", () => {
    const page = "# Two words\n## `code`, and: signs!\n## Two words\n```\n# not a heading\n```\n### Snake_case - x";
    expect([...anchorsOf(page)]).toEqual(["two-words", "code-and-signs", "two-words-1", "snake_case---x"]);
  });

  it("find every page of rules in the index", () => {
    const index = readFileSync(join(ROOT, "docs/rules/README.md"), "utf8");
    const names = readdirSync(join(ROOT, RULES)).filter((name) => name !== "README.md");
    expect(names.filter((name) => !index.includes(`](${name})`))).toEqual([]);
  });
});
