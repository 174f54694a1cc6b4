/** The example of docs/platform.md#regions is a configuration: it parses, and requests belong to the cells that the page says. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cellFor } from "../../edge/domain/cell/placement.ts";
import { checkBindings } from "../../infra/local/runtime.ts";
import { envCells } from "../../shared/env/cells.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/platform.md"), "utf8");
const [, EXAMPLE = ""] = /\n## Regions\n[\s\S]*?```json\n([\s\S]*?)```/.exec(PAGE) ?? [];
const [, OWN = ""] = /`GATEWAY_CELL = "(\w+)"`/.exec(PAGE) ?? [];

const cells = envCells.parse(EXAMPLE) ?? [];

it("passes the Worker's own rules, and has three cells, one in a jurisdiction", () => {
  const variables = { GATEWAY_CELLS: EXAMPLE, GATEWAY_REDIS_URL: "https://redis.example.com" };
  checkBindings({ ...variables, GATEWAY_CELL: OWN });
  expect(() => checkBindings({ ...variables, GATEWAY_CELL: "elsewhere" })).toThrow("GATEWAY_CELL");
  expect(cells.map(({ cell, jurisdiction, hint }) => [cell, jurisdiction ?? hint])).toEqual([
    ["eu", "eu"],
    ["us", "enam"],
    ["asia", "apac"],
  ]);
});

it("sends requests where its table says", () => {
  const lines = [...PAGE.matchAll(/^\| \S.*? \(`(\w{3})`, `(\w\w)`\) +\| `(\w+)` +\|/gm)];
  expect(lines.map(([, colo, continent]) => cellFor({ colo, continent }, cells, OWN))).toEqual(
    lines.map(([, , , cell]) => cell),
  );
  expect(lines).toHaveLength(4);
  const [, elsewhere] = /^\| a place in no list +\| `(\w+)` +\|/m.exec(PAGE) ?? [];
  expect(cellFor({ colo: "SYD", continent: "AN" }, cells, OWN)).toBe(elsewhere);
});
