/** Whatever an address says, a view gets parameters that it knows. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { choiceParam, flagParam, numberParam, searchParams, textParam } from "./search-params.ts";

const view = searchParams({
  open: textParam(10),
  tab: choiceParam(["first", "second"]),
  min: numberParam(0, 100),
  live: flagParam,
});

describe("searchParams", () => {
  it("keeps what is known and right", () => {
    expect(view({ open: 123, tab: "second", min: 1.5, live: true, other: 1 })).toEqual({
      open: "123",
      tab: "second",
      min: 1.5,
      live: true,
    });
  });

  it("drops what is too long, unknown or of another kind", () => {
    expect(view({ open: "x".repeat(11), tab: "third", min: Number.NaN, live: "true" })).toEqual({});
  });

  it("never throws, and never lets another kind through", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("open", "tab", "min", "live", "__proto__", "x"), fc.anything()),
        (search) => {
          const { open, tab, min, live, ...rest } = view(search);
          expect(rest).toEqual({});
          expect(["undefined", "string"]).toContain(typeof open);
          expect([undefined, "first", "second"]).toContain(tab);
          expect(min === undefined || (min >= 0 && min <= 100)).toBe(true);
          expect([undefined, true]).toContain(live);
        },
      ),
    );
  });
});
