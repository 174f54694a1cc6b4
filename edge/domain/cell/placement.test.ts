import { describe, expect, it } from "vitest";
import { cellFor } from "./placement.ts";

const cells = [
  { cell: "eu", continents: ["EU", "AF"], colos: [] },
  { cell: "us-east", continents: ["NA", "SA"], colos: ["IAD"] },
  { cell: "us-west", continents: ["NA"], colos: ["SJC", "LAX", "CDG"] },
];

describe("the cell of a request", () => {
  it.each([
    [{ colo: "IAD", continent: "NA" }, "us-east"],
    [{ colo: "LAX", continent: "NA" }, "us-west"],
    [{ colo: "CDG", continent: "EU" }, "us-west"],
    [{ colo: "FRA", continent: "EU" }, "eu"],
    [{ colo: "DFW", continent: "NA" }, "us-east"],
    [{ colo: "SIN", continent: "AS" }, "own"],
    [{ colo: 7, continent: null }, "own"],
    [{}, "own"],
    [undefined, "own"],
  ])("that arrived at %j is %s", (arrived, cell) => {
    expect(cellFor(arrived, cells, "own")).toBe(cell);
  });
});
