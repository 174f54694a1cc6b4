/** A redirect never leaves the origin, as the URL parser of browsers reads it (docs/rules/console.md#providers). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { propertyRuns } from "../../test/harness/property-runs.ts";
import { ownPath } from "./own-path.ts";

const ORIGIN = "https://console.example";
const PIECES = [
  "/",
  "\\",
  ".",
  "..",
  "%2e",
  "%2E%2e",
  "%2f",
  "%5c",
  "evil.example",
  "@",
  ":",
  "?",
  "#",
  "\t",
  "\n",
  " ",
  "x",
  "https:",
];

describe("the path of a redirect", () => {
  it.each(["/..//evil.example", "/.//evil.example", "/%2e%2e//evil.example", "//evil.example", "/\\evil.example"])(
    "is / for %s",
    (text) => {
      expect(ownPath(text, ORIGIN)).toBe("/");
    },
  );

  it.each(["/usage?from=1", "/", "/keys/a%2Fb"])("is %s as it was", (text) => {
    expect(ownPath(text, ORIGIN)).toBe(text);
  });

  it("stays within the origin and at the same page, whatever the text", () => {
    const text = fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 3 })), { maxLength: 12 });
    fc.assert(
      fc.property(text, (pieces) => {
        const path = ownPath(pieces.join(""), ORIGIN);
        const { origin, pathname, search } = new URL(path, ORIGIN);
        expect({ origin, path: `${pathname}${search}` }).toEqual({ origin: ORIGIN, path });
        expect(ownPath(path, ORIGIN)).toBe(path);
      }),
      { numRuns: propertyRuns(20_000) },
    );
  });
});
