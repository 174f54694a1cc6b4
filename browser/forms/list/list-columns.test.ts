/** Which columns of a list are shown, from its address. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { columnsParam, shownColumns } from "./list-columns.ts";

const COLUMNS = [{ id: "name" }, { id: "cost" }, { id: "created", isExtra: true }];
const idsOf = (param: string | undefined): string =>
  shownColumns(COLUMNS, param)
    .map(({ id }) => id)
    .join(",");

it("are those that the address names, in the order of the list", () => {
  expect(["created,name", "cost", "name,__proto__"].map(idsOf)).toEqual(["name,created", "cost", "name"]);
});

it("are the usual ones for an address that names none", () => {
  for (const param of [undefined, "", ",", "other", "constructor"]) expect(idsOf(param)).toBe("name,cost");
});

it("are shown and hidden one by one; without any the usual ones are back", () => {
  expect(columnsParam(COLUMNS, shownColumns(COLUMNS, undefined), "created")).toBe("name,cost,created");
  expect(columnsParam(COLUMNS, shownColumns(COLUMNS, undefined), "name")).toBe("cost");
  expect(columnsParam(COLUMNS, shownColumns(COLUMNS, "cost"), "cost")).toBeUndefined();
});

it("never leave a table without columns, whatever an address says", () => {
  fc.assert(fc.property(fc.string(), (param) => shownColumns(COLUMNS, param).length > 0));
});

it("are the same again after a column was toggled twice", () => {
  fc.assert(
    fc.property(fc.subarray(COLUMNS, { minLength: 2 }), fc.constantFrom(...COLUMNS), (shown, { id }) => {
      const once = columnsParam(COLUMNS, shown, id);
      expect(columnsParam(COLUMNS, shownColumns(COLUMNS, once), id)).toBe(shown.map((one) => one.id).join(","));
    }),
  );
});
