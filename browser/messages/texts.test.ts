/** Templates are filled as their languages want it, and values never become templates. */
import { describe, expect, it } from "vitest";
import { fill, setLanguage, texts } from "./texts.ts";

describe("fill", () => {
  it("puts values in, and leaves the name of one that is missing", () => {
    expect(fill("{who} waits for {what}", { who: "acme" }, "en")).toBe("acme waits for {what}");
  });

  it.each([
    [0, "0 requests wait"],
    [1, "1 request waits"],
    [1234, "1,234 requests wait"],
    [Number.NaN, "– requests wait"],
  ])("chooses the form for %s", (count, text) => {
    expect(fill("{count, plural, one {# request waits} other {# requests wait}}", { count }, "en")).toBe(text);
  });

  it("uses the forms of the language", () => {
    expect(fill("{n, plural, one {# plik} few {# pliki} many {# plików} other {# pliku}}", { n: 22 }, "pl")).toBe(
      "22 pliki",
    );
  });

  it("does not read a value as a template", () => {
    expect(fill("{name}", { name: "{secret}" }, "en")).toBe("{secret}");
    expect(fill("{constructor}", {}, "en")).toBe("{constructor}");
  });
});

describe("texts", () => {
  it("takes a language's text, and the English one where it has none", () => {
    const text = texts("room", { a: "one", b: "two {x}" });
    setLanguage("de", { room: { a: "eins" } });
    expect({ translated: text("a"), untranslated: text("b", { x: 2 }) }).toEqual({
      translated: "eins",
      untranslated: "two 2",
    });
    setLanguage("en", {});
    expect(text("a")).toBe("one");
  });
});
