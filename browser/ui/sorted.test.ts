/** The order of a table, from its address. */
import { expect, it } from "vitest";
import { sortedRows, sortFrom, sortParam } from "./sorted.ts";

interface Row {
  readonly name: string;
  readonly cost: number | null;
}
const VALUES = { name: ({ name }: Row) => name, cost: ({ cost }: Row) => cost };
const ROWS: readonly Row[] = [
  { name: "b", cost: 2 },
  { name: "a", cost: null },
  { name: "C", cost: 10 },
  { name: "d", cost: Number.NaN },
];
const order = (param: string | undefined) =>
  sortedRows(ROWS, sortFrom(param, VALUES), VALUES)
    .map(({ name }) => name)
    .join("");

it("puts rows in order, what is not known last", () => {
  expect(["name", "-name", "cost", "-cost"].map(order)).toEqual(["abCd", "dCba", "bCad", "Cbad"]);
});

it("leaves rows as they are for an address that names no column", () => {
  for (const param of [undefined, "", "-", "__proto__", "-constructor", "other"]) {
    expect(sortFrom(param, VALUES)).toBeUndefined();
    expect(order(param)).toBe("baCd");
  }
});

it("reads back what it writes", () => {
  for (const param of ["cost", "-name"]) expect(sortParam(sortFrom(param, VALUES) as never)).toBe(param);
});
