/**
 * docs/runbooks.md has a paragraph for everything that calls somebody, and for nothing else: rules of Prometheus, kinds
 * of attention, alerts of the gateway.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CHECKS } from "../../control/doctor/finding.ts";
import { ATTENTION_KINDS } from "../../shared/schema/attention.ts";
import { ALERT_KEYS } from "../harness/alert-keys.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const PAGE = read("docs/runbooks.md");
/** A paragraph that sends the reader on needs no more than that; others say what to look at and what to do. */
const POINTER = /^(The steps of|As) \[[^\]]+\]\([^)]+\)/;
const PARAGRAPH_MIN_CHARS = 60;

/** Headings of one level below a heading of level two, with the text up to the next heading. */
function paragraphsUnder(heading: string, level: number): ReadonlyMap<string, string> {
  const [section = ""] = (PAGE.split(`\n## ${heading}\n`)[1] ?? "").split("\n## ");
  const parts = section.split(/\n(?=#+ )/);
  const named = parts.flatMap((part) => {
    const [, marks = "", name = "", text = ""] = /^(#+) (.*)\n([\s\S]*)$/.exec(part) ?? [];
    return marks.length === level ? [[name, text.trim()] as const] : [];
  });
  expect(new Set(named.map(([name]) => name)).size).toBe(named.length);
  return new Map(named);
}

const SECTIONS = [
  [
    "Rules of Prometheus",
    3,
    [...read("infra/grafana/alerts.yml").matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name),
  ],
  ["Attention", 3, ATTENTION_KINDS],
  ["Alerts of the gateway", 4, Object.keys(ALERT_KEYS)],
] as const;

it.each(SECTIONS)("%s: each has its paragraph, and none is of something else", (heading, level, names) => {
  const paragraphs = paragraphsUnder(heading, level);
  expect([...paragraphs.keys()].toSorted()).toEqual([...names].toSorted());
  const empty = [...paragraphs].filter(([, text]) => !POINTER.test(text) && text.length < PARAGRAPH_MIN_CHARS);
  expect(empty.filter(([, text]) => !/[Nn]othing to do/.test(text))).toEqual([]);
});

it("a link of a paragraph does not lead back to itself", () => {
  const own = SECTIONS.flatMap(([heading, level]) =>
    [...paragraphsUnder(heading, level)].filter(([name, text]) => text.includes(`](#${name.toLowerCase()})`)),
  );
  expect(own.map(([name]) => name)).toEqual([]);
});

it("operations.md says of every check of the doctor what it looks at", () => {
  const [, section = ""] = read("docs/operations.md").split("\n### The doctor\n");
  const [table = ""] = section.split("\n## ");
  const rows = [...table.matchAll(/^\| (\w+) +\|/gm)].map(([, name]) => name).filter((name) => name !== "check");
  expect(rows).toEqual([...CHECKS]);
});
