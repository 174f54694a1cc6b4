import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../../shared/steps.ts";
import { BytePieces } from "../bytes/byte-pieces.ts";
import { stringPlaces as placesInSteps, stringAt as stringInSteps, UNKNOWN_WAY } from "./string-places.ts";

type Given = Parameters<typeof placesInSteps<null>>;
const stringPlaces = (pieces: Given[0], ...given: [Given[2], Given[3]?, Given[4]?]) =>
  atOnce(placesInSteps(pieces, UNKNOWN_WAY, ...given));
const stringAt = (...given: Parameters<typeof stringInSteps>) => atOnce(stringInSteps(...given));

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The bytes of a text, cut at the given places. */
function cutAt(text: string, cuts: readonly number[]): Uint8Array[] {
  const bytes = encode(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.byteLength + 1)))].sort((a, b) => a - b);
  return [...places, bytes.byteLength].map((to, nth) => bytes.subarray(places[nth - 1] ?? 0, to));
}

/** Every string value of a JSON value, in order, and every name before its value if names are wanted. */
function stringsOf(value: unknown, names: boolean): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap((one) => stringsOf(one, names));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => [...(names ? [name] : []), ...stringsOf(one, names)]);
}

/** The names of members that are not strings, in the order in which they are written. */
function otherNames(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    ...(Array.isArray(value) || typeof inner === "string" ? [] : [name]),
    ...otherNames(inner),
  ]);
}

describe("string places", () => {
  it("cover every string value and name, however the JSON is written and its pieces are cut", () => {
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom('\\"', "\\", 'a"b', "\\\\", "é😀", "\ud800"));
    const value = fc.jsonValue({ maxDepth: 5 }).chain((json) => fc.record({ json: fc.constant(json), text }));
    fc.assert(
      fc.property(value, fc.array(fc.nat(500)), fc.constantFrom(undefined, 1, "\t"), (given, cuts, space) => {
        const pieces = cutAt(JSON.stringify(given, null, space), cuts);
        for (const names of [false, true]) {
          const found = stringPlaces(pieces, (_, isName) => names || !isName);
          const expected = stringsOf(JSON.parse(JSON.stringify(given)), names);
          for (const partBytes of [8, undefined])
            expect(found.map(({ span }) => stringAt(new BytePieces(pieces), span, partBytes))).toEqual(expected);
        }
      }),
    );
  });

  it("have numbers between them, each as it is written, however the bytes are cut", () => {
    const json = '{"a":[1, -2.5E+3 ,40],"b":{"c":-0,"d":"x"},"e":12345 }';
    fc.assert(
      fc.property(fc.array(fc.nat(60)), (cuts) => {
        const pieces = cutAt(json, cuts);
        const found = stringPlaces(
          pieces,
          () => false,
          () => undefined,
          ([name]) => name !== "e",
        );
        const texts = found.map(({ span }) => stringAt(new BytePieces(pieces), span));
        expect(texts).toEqual(["1", "-2.5E+3", "40", "-0"]);
      }),
    );
  });

  it("report the members whose value is no string", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.array(fc.nat(500)), fc.constantFrom(0, 3), (json, cuts, space) => {
        const names: unknown[] = [];
        stringPlaces(
          cutAt(JSON.stringify(json, null, space), cuts),
          () => false,
          (path) => names.push(path.at(-1)),
        );
        expect(names).toEqual(otherNames(JSON.parse(JSON.stringify(json))));
      }),
    );
  });

  it("carry the names on their way, and a number of their own for each element", () => {
    const json = '{"a": [1, 2 , {"b":"x"} , {"b":"y"}, "z"], "a":{"c\\u0064":"w"}, "n":-1e5, "t":true}';
    const pieces = [encode(json)];
    const found = stringPlaces(pieces, (_, isName) => !isName).map(({ path, span }) => [
      ...path,
      stringAt(new BytePieces(pieces), span),
    ]);
    const [first, second, third] = found.map((path) => path[1]);
    expect(new Set([first, second, third]).size).toBe(3);
    expect(found.map((path) => path.filter((step) => typeof step === "string"))).toEqual([
      ["a", "b", "x"],
      ["a", "b", "y"],
      ["a", "z"],
      ["a", "cd", "w"],
    ]);
  });

  it("carry the start of a name that is too long, wherever it is cut", () => {
    for (const filler of ["x", "é", "\\\\", "\\u0041"])
      for (const shift of ["", "-", "--", "---", "----", "-----"]) {
        const json = `{"prompt\\u0000${shift}${filler.repeat(1100)}":"x"}`;
        const [place] = stringPlaces([encode(json)], (_, isName) => !isName);
        expect(String(place?.path[0]).startsWith(`prompt\0${shift}`)).toBe(true);
      }
  });

  it("of a document that is deeper than any honest one are found all the same", () => {
    const deep = `{"messages":${"[".repeat(50_000)}"x"${"]".repeat(50_000)}}`;
    const [place] = stringPlaces([encode(deep)], ([name], isName) => name === "messages" && !isName);
    expect(place?.path.length).toBe(64);
  });
});
