import { describe, expect, it } from "vitest";
import { rowsAround, scrollTo } from "./rows-in-sight.ts";

describe("the rows of a long list that are in the document", () => {
  it("are those in sight and eight on either side", () => {
    expect(rowsAround({ top: 0, rows: 20 }, 100)).toEqual({ first: 0, last: 28 });
    expect(rowsAround({ top: 50, rows: 20 }, 100)).toEqual({ first: 42, last: 78 });
    expect(rowsAround({ top: 80, rows: 20 }, 100)).toEqual({ first: 72, last: 99 });
  });

  it("are the last ones of a list that became shorter", () => {
    expect(rowsAround({ top: 500, rows: 20 }, 60)).toEqual({ first: 32, last: 59 });
  });

  it("are no rows of an empty list", () => {
    expect(rowsAround({ top: 0, rows: 20 }, 0)).toEqual({ first: 0, last: -1 });
  });
});

describe("scrolling to a row", () => {
  const heights = { rowPx: 10, headPx: 20 };
  const to = (at: number) => scrollTo(at, { scrollTop: 300, clientHeight: 120 }, heights);

  it("leaves a list in which the row is in sight", () => {
    expect([to(30), to(35), to(39)]).toEqual([300, 300, 300]);
  });

  it("puts a row above below the head, and a row below at the end", () => {
    expect([to(29), to(0), to(40), to(99)]).toEqual([290, 0, 310, 900]);
  });
});
