/** The table of docs/rules/dialects.md#what-is-lost equals the table in the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LOST_FIELDS } from "./lost-fields.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/rules/dialects.md"), "utf8");

/** The rows of the table below a heading: outcome, reason, fields. */
function rowsBelow(heading: string): string[][] {
  const [, below = ""] = page.split(`### ${heading}\n`);
  const [section = ""] = below.split("\n#");
  const cells = section.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  return cells
    .filter(([, fields]) => fields?.startsWith("`"))
    .map(([, fields = "", outcome = "", why = ""]) => [outcome, why, fields.replaceAll(/[`,]/g, "")]);
}

describe("the table of lost fields", () => {
  it.each([
    ["openai", "Chat completions to Anthropic"],
    ["anthropic", "Messages to chat completions"],
    ["responses", "Responses to chat completions"],
  ] as const)("for clients of %s is what the page shows", (dialect, heading) => {
    expect(rowsBelow(heading)).toEqual(LOST_FIELDS[dialect]);
  });

  it("has no field twice", () => {
    const counts = Object.values(LOST_FIELDS).map((losses) => {
      const fields = losses.flatMap(([, , names]) => names.split(" "));
      return { all: fields.length, different: new Set(fields).size };
    });
    expect(counts.map(({ all, different }) => all - different)).toEqual([0, 0, 0]);
  });
});
