import { expect, it } from "vitest";
import { type CsvColumn, shownCsv } from "./shown-csv.ts";

interface Row {
  readonly name: string;
  readonly ms: number | null;
}

const COLUMNS: readonly CsvColumn<Row>[] = [
  { id: "name", head: "Name", sortBy: ({ name }) => name },
  { id: "ms", head: null, name: "Wait", unit: "ms", sortBy: ({ ms }) => ms },
  {
    id: "state",
    head: null,
    sortBy: ({ ms }) => Number(ms === null),
    csv: ({ ms }) => (ms === null ? "gone" : "here"),
  },
  { id: "action", head: "What to do" },
];

it("has a line with the heads, and one for each row in the order shown", () => {
  const rows = [
    { name: "b", ms: 0.5 },
    { name: 'a "quoted", text', ms: null },
  ];
  expect(shownCsv(COLUMNS, rows)).toBe('Name,Wait (ms),state\r\nb,0.5,here\r\n"a ""quoted"", text",,gone\r\n');
});

it("lets no text become a formula, and writes no figure for NaN or infinity", () => {
  const rows = [Number.NaN, Number.POSITIVE_INFINITY].map((ms) => ({ name: "=1+1", ms }));
  expect(shownCsv(COLUMNS.slice(0, 2), rows)).toBe("Name,Wait (ms)\r\n'=1+1,\r\n'=1+1,\r\n");
});

it("is its heads where there are no rows", () => {
  expect(shownCsv(COLUMNS.slice(0, 1), [])).toBe("Name\r\n");
});
