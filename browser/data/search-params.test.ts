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

  it("lets no refused value through where its result is laid over the address", () => {
    const address = { tab: "third", min: "x", live: "true", open: "a" };
    expect({ ...address, ...view(address) }).toEqual({ open: "a" });
  });

  it("drops objects, also those that cannot be written", () => {
    expect(view({ tab: { toString: 1 }, open: Object.create(null) })).toEqual({});
  });

  it.each([
    ["1.5", 1.5],
    ["007", 7],
    ["0", 0],
    ["-0.0", -0],
    ["100", 100],
  ])("takes the text %j as a number", (min, expected) => {
    expect(view({ min })).toEqual({ min: expected });
  });

  it.each([
    "",
    " ",
    " 5",
    "5\n",
    "1e1",
    "0x10",
    "+5",
    "5.",
    ".5",
    "1e309",
    "9".repeat(400),
    "-1",
    "100.1",
    "NaN",
    "Infinity",
    "٥",
    true,
    [5],
    null,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    -1,
    100.1,
  ])("takes %j as no number within its bounds", (min) => {
    expect(view({ min })).toEqual({});
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
