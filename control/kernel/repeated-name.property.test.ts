/** The names that objects have twice are found wherever they are, and however they are written. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { repeatedName } from "./repeated-name.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

it("finds nothing in what JSON.stringify has written", () => {
  fc.assert(
    fc.property(fc.json({ depthSize: "large" }), (text) => {
      expect({ text, found: repeatedName(bytesOf(JSON.stringify(JSON.parse(text)))) }).toEqual({ text, found: null });
    }),
  );
});

it("finds a name that is written again, with escapes too, by its path", () => {
  const name = fc.string({ unit: "binary", maxLength: 8 }).filter((text) => text.isWellFormed());
  const escaped = (text: string): string =>
    [...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
  fc.assert(
    fc.property(name, fc.json(), fc.boolean(), fc.nat(3), (twice, value, isEscaped, before) => {
      const again = isEscaped ? `"${escaped(twice)}"` : JSON.stringify(twice);
      const inner = `{${JSON.stringify(twice)} : ${value},${again}\n:${value}}`;
      const items = [...Array.from({ length: before }, () => "{}"), inner];
      expect({ inner, found: repeatedName(bytesOf(`{"list":[${items.join(",")}]}`)) }).toEqual({
        inner,
        found: `list.${before}.${twice}`,
      });
    }),
  );
});
