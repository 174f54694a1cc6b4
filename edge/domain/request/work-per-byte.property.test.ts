/**
 * Looking for fields in a document is work for its bytes alone: names above many strings are examined once, not once for each
 * string. Operations on names are counted, never timed.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { atOnce, type Steps } from "../../../shared/steps.ts";
import { toldBy } from "../../../test/harness/edge/told-by.ts";
import { watchedCalls } from "../../../test/harness/edge/watched-calls.ts";
import { namesWithin } from "../upstream/named-refusal.ts";
import { imageCount } from "./image-count.ts";
import { namedObjects } from "./named-objects.ts";
import { steeringWithin } from "./steering-fields.ts";

/** Far more than the names above them. */
const COUNT = 5_000;
const UNITS_PER_BYTE = 40;
/** Every way to look at names: they are folded, split, compared with expressions and looked up. */
const LOOKS = [
  [String.prototype, "toLowerCase"],
  [String.prototype, "replaceAll"],
  [String.prototype, "split"],
  [RegExp.prototype, "test"],
  [Set.prototype, "has"],
  [Map.prototype, "get"],
] as const;
/** A string of a list, and an object with one member. */
const LOOKS_PER_STRING = 24;
/** A name of 40 characters has at most 20 steps. */
const LOOKS_PER_NAME = 200;

const readers: Readonly<Record<string, (body: Uint8Array) => Steps<unknown>>> = {
  "numbers of images": (body) => imageCount([body]),
  "ids and places of files": (body) => namedObjects([body], 100),
  "fields that steer": (body) => steeringWithin("extra_body", body, (name) => name, new Set()),
  "names in errors": (body) => namesWithin([body], ["limit"]),
};

/** Many small values below names, some of which are long or have steps. */
const document = fc
  .record({
    names: fc.array(
      fc.constantFrom(
        "a[b]".repeat(10),
        "options.".repeat(5),
        "A".repeat(40),
        "\u0001".repeat(40),
        " ".repeat(40),
        "extra_body",
        "metadata",
        "parameters",
        "tools",
        "input",
        "",
      ),
      { minLength: 30, maxLength: 62 },
    ),
    member: fc.constantFrom("n", "image", "file_id", "id", "url", "zz", "type", "extra_args"),
    one: fc.constantFrom('""', '"/"', "1", "{}", "[]", '{"a":"b"}', '{"type":"x"}', '{"id":"a","type":"b"}'),
  })
  .map(({ names, member, one }) => {
    const open = names.map((name) => (name === "" ? "[" : `{${JSON.stringify(name)}:`)).join("");
    const close = names.map((name) => (name === "" ? "]" : "}")).reverse();
    return `{"input":${open}{"${member}":[${`${one},`.repeat(COUNT)}${one}]}${close.join("")}}`;
  });

it.each(Object.entries(readers))("%s are looked for in work that is bounded for each byte", (_, read) => {
  fc.assert(
    fc.property(document, (json) => {
      const body = new TextEncoder().encode(json);
      let looks = 0;
      watchedCalls(
        LOOKS,
        () => (looks += 1),
        () => atOnce(read(body)),
      );
      const names = json.split('":').length;
      const { units } = toldBy(read(body));
      expect({
        isBounded: looks <= LOOKS_PER_STRING * COUNT + LOOKS_PER_NAME * 64 + LOOKS_PER_STRING * names,
        looks,
      }).toEqual({
        isBounded: true,
        looks,
      });
      expect(units / body.byteLength).toBeLessThanOrEqual(UNITS_PER_BYTE);
    }),
    { numRuns: 25 },
  );
});
