/** The page of the doctor says of every check what it looks at, in the order of the code, and of no other. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CHECKS } from "../../control/cli/doctor/finding.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/watch.md"), "utf8");

it("says of every check of the doctor what it looks at", () => {
  const [, section = ""] = PAGE.split("\n## The doctor\n");
  const [table = ""] = section.split("\n## ");
  const rows = [...table.matchAll(/^\| (\w+) +\|/gm)].map(([, name]) => name).filter((name) => name !== "check");
  expect(rows).toEqual([...CHECKS]);
});
