import { describe, expect, it } from "vitest";
import * as z from "zod";
import { envCells, requireOwnCell } from "./cells.ts";
import { envCellName, envErrorText, envText } from "./env-fields.ts";

const schema = z
  .object({ GATEWAY_CELL: envText("local").pipe(envCellName), GATEWAY_CELLS: envCells })
  .superRefine(requireOwnCell);
const url = "https://gateway.example";

/** The error about a list, in one line; null when it is valid. */
function complaint(cells: unknown, own?: string): string | null {
  const text = typeof cells === "string" ? cells : JSON.stringify(cells);
  const result = schema.safeParse({ GATEWAY_CELL: own, GATEWAY_CELLS: text });
  return result.success ? null : envErrorText(result.error);
}

describe("GATEWAY_CELLS", () => {
  it("is read with empty values for what is left out", () => {
    const cells = [
      { cell: "local", url, hint: "weur", continents: ["EU", "AF"], colos: ["FRA"] },
      { cell: "us", url, jurisdiction: "us" },
    ];
    expect(schema.parse({ GATEWAY_CELLS: JSON.stringify(cells) }).GATEWAY_CELLS).toEqual([
      cells[0],
      { ...cells[1], continents: [], colos: [] },
    ]);
    expect(schema.parse({}).GATEWAY_CELLS).toBeUndefined();
    expect(schema.parse({ GATEWAY_CELLS: "" }).GATEWAY_CELLS).toBeUndefined();
  });

  const form = "GATEWAY_CELLS must be a JSON array of {cell, url, hint or jurisdiction, continents, colos}";
  it.each<[string, unknown, string]>([
    ["no JSON", "local", form],
    ["no array", {}, form],
    ["empty", [], form],
    ["without a URL", [{ cell: "local" }], `${form}: [0].url`],
    ["with an unknown hint", [{ cell: "local", url, hint: "moon" }], `${form}: [0].hint must be one of wnam, enam`],
    ["with an unknown field", [{ cell: "local", url, continent: "EU" }], `${form}: [0] `],
    ["with a lower-case colo", [{ cell: "local", url, colos: ["fra"] }], `${form}: [0].colos[0] must be three capital`],
    ["with hint and jurisdiction", [{ cell: "local", url, hint: "me", jurisdiction: "eu" }], "set only one"],
    [
      "with a cell twice",
      [
        { cell: "local", url },
        { cell: "local", url },
      ],
      "GATEWAY_CELLS lists the cell local twice",
    ],
    ["without the own cell", [{ cell: "eu", url }], "GATEWAY_CELLS does not list GATEWAY_CELL, which is local"],
  ])("that is %s is refused in one line", (_what, cells, words) => {
    const said = complaint(cells);
    expect(said).toContain(words);
    expect(said).not.toContain("\n");
  });

  it("uses the own cell's name as it is set", () => {
    expect(complaint([{ cell: "eu", url }], "eu")).toBeNull();
  });
});
