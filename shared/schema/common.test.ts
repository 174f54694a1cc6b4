import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { freeText, nameField, optionalName, requiredText, timestamp, timezone, whole } from "./common.ts";

describe("text", () => {
  test("is trimmed before it is measured", () => {
    expect(requiredText(3).parse("  abc ")).toBe("abc");
    expect(requiredText(3).safeParse("   ").success).toBe(false);
    expect(freeText(3).safeParse("abcd").success).toBe(false);
  });

  test.each(["a\0b", "\ud800", "x\udc00"])("that no database can hold is refused: %j", (text) => {
    expect(requiredText(10).safeParse(text).success).toBe(false);
    expect(freeText(10).safeParse(text).success).toBe(false);
  });

  test("keeps whole surrogate pairs", () => {
    expect(freeText(10).parse("a😀")).toBe("a😀");
  });
});

test("a whole number is a safe integer within its bounds", () => {
  expect(whole(1, 5).parse(5)).toBe(5);
  for (const value of [0, 6, 1.5, 2 ** 53, "3", null]) expect(whole(1, 5).safeParse(value).success).toBe(false);
});

test.each([1e30, 2 ** 53, Number.MAX_VALUE])("a whole number that is too large is told both bounds: %d", (value) => {
  const messages = whole(0)
    .safeParse(value)
    .error?.issues.map(({ message }) => message);
  expect(new Set(messages)).toEqual(new Set(["must be a whole number from 0 to 9007199254740991"]));
  expect(whole(0).safeParse(-1).error?.issues[0]?.message).toBe("must be a whole number of at least 0");
});

test("a timestamp comes out in UTC with milliseconds", () => {
  expect(timestamp.parse("2026-01-02T03:04:05+02:00")).toBe("2026-01-02T01:04:05.000Z");
  expect(timestamp.safeParse("2026-01-02").success).toBe(false);
});

test("a time zone is an IANA name", () => {
  expect(timezone.parse("Europe/Berlin")).toBe("Europe/Berlin");
  for (const text of ["Mars/Base", "", "+02:00", "-08", "UTC+1"]) expect(timezone.safeParse(text).success).toBe(false);
});

describe("a name", () => {
  it.each(["research", "Ärzte & Co. (2)", "研究", "مجموعة البحث", "می‌خواهم", "👩‍🔬 lab", "a.b-c_d/e:f", "café"])(
    "may be %s",
    (name) => {
      expect(nameField.parse(` ${name} `)).toBe(name);
    },
  );

  it.each([
    ["a line break", "a\nb"],
    ["a carriage return", "a\rb"],
    ["an escape", "a\u001b[31mb"],
    ["a control character of Latin-1", "a\u0085b"],
    ["a line separator", "a\u2028b"],
    ["an override of the direction", "a\u202etxt"],
    ["an isolate", "a\u2066b"],
    ["a mark of the direction", "a\u200fb"],
    ["a space without width", "a\u200bb"],
    ["a soft hyphen", "a\u00adb"],
    ["a byte order mark", "a\ufeffb"],
    ["nothing but spaces", " \u00a0\u3000 "],
    ["nothing but joiners", "\u200d\u200c"],
    ["nothing but a combining mark", "\u0301"],
    ["a decomposed letter", "cafe\u0301"],
    ["NUL", "a\0b"],
    ["half a surrogate pair", "a\ud800"],
  ])("is not %s", (_, name) => {
    expect(nameField.safeParse(name).success).toBe(false);
    if (name.trim() !== "") expect(optionalName.safeParse(name).success).toBe(false);
  });

  it("need not be there where it is optional", () => {
    expect(optionalName.parse("  ")).toBe("");
  });

  it("is stored exactly as it was given, but for blanks around it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const { data } = nameField.safeParse(text);
        if (data === undefined) return;
        expect(data).toBe(text.trim());
        expect(data.normalize("NFC")).toBe(data);
        expect(JSON.parse(JSON.stringify(data))).toBe(data);
      }),
    );
  });
});
