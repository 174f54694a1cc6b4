/**
 * JSON compaction keeps every value: what it writes reads back as the same tree, over all of JSON.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { compactJsonText, reconstructJson } from "./json-table.ts";
import { JSON_DEPTH_MAX, readJsonTree, sameTree } from "./json-tree.ts";

/** Literals that a parser and a writer of numbers or texts would change, or that look like something else in a cell. */
const ODD_SCALARS = [
  "-0",
  "-0.0",
  "0e0",
  "1.0",
  "1e308",
  "1e400",
  "-1e400",
  "5e-324",
  "12345678901234567890",
  "0.1000000000000000055511151231257827",
  "9007199254740993",
  '""',
  '" "',
  '" padded "',
  '"@1"',
  '"@table"',
  '"[table rows=2]"',
  '"[table 1 rows=2]"',
  '"{}"',
  '"[]"',
  '"null"',
  '"true"',
  '"-1"',
  '"1e5"',
  '"a,b"',
  '"x\\"y"',
  '"\\n"',
  '"\\u0000"',
  '"\\ud800"',
  '"\ud800"',
  '"\udc00 lone"',
  '"\\u0061"',
  '"\u2028"',
  '"\u00a0"',
  '"=1+1"',
];
const ODD_NAMES = [
  "",
  "__proto__",
  "constructor",
  "a,b",
  "a b",
  " a",
  '"',
  "@1",
  "\n",
  "\ud800",
  "[table rows=2]",
  "1",
];

const scalar = fc.oneof(
  fc.constantFrom(...ODD_SCALARS, "true", "false", "null"),
  fc.double({ noNaN: true }).map((value) => (Object.is(value, -0) ? "-0" : `${value}`.replace("Infinity", "1e999"))),
  fc.string({ unit: "binary", maxLength: 12 }).map((text) => JSON.stringify(text)),
);
const name = fc.oneof(
  fc.constantFrom("id", "name", "value", "status"),
  fc.constantFrom(...ODD_NAMES),
  fc.string({ unit: "binary", maxLength: 6 }),
);
const space = fc.constantFrom("", " ", "\n", "\t", "\r\n  ");

/** Source texts of values, with whitespace wherever JSON allows it. */
const { value } = fc.letrec<{ value: string; array: string; object: string; rows: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 5, depthIdentifier: "json" }, scalar, tie("array"), tie("object"), tie("rows")),
  array: fc
    .tuple(fc.array(tie("value"), { maxLength: 4, depthIdentifier: "json" }), space)
    .map(([items, gap]) => `[${gap}${items.join(`${gap},`)}${gap}]`),
  object: fc
    .tuple(
      fc.uniqueArray(fc.tuple(name, tie("value")), {
        selector: ([key]) => key,
        maxLength: 4,
        depthIdentifier: "json",
      }),
      space,
    )
    .map(([members, gap]) => objectText(members, gap)),
  // what becomes a table: rows of mostly the same names
  rows: fc
    .tuple(
      fc.uniqueArray(name, { minLength: 1, maxLength: 4 }),
      fc.array(fc.array(fc.option(tie("value"), { freq: 6 }), { minLength: 4, maxLength: 4 }), {
        minLength: 2,
        maxLength: 6,
        depthIdentifier: "json",
      }),
      space,
    )
    .map(([names, rows, gap]) => {
      const texts = rows.map((cells) =>
        objectText(
          names.flatMap((key, at): [string, string][] => (cells[at] === null ? [] : [[key, cells[at] ?? "null"]])),
          gap,
        ),
      );
      return `[${texts.join(`${gap},${gap}`)}]`;
    }),
}));

function objectText(members: readonly (readonly [string, string])[], gap: string): string {
  return `{${gap}${members.map(([key, text]) => `${JSON.stringify(key)}${gap}:${gap}${text}`).join(`${gap},`)}${gap}}`;
}

describe("JSON compaction", () => {
  it("is shorter, and reads back as the same value", () => {
    let compactions = 0;
    let tables = 0;
    fc.assert(
      fc.property(value, (text) => {
        const compacted = atOnce(compactJsonText(text));
        if (compacted === null) return;
        compactions += 1;
        if (compacted.includes("[table ")) tables += 1;
        expect(compacted.length).toBeLessThan(text.length);
        const before = atOnce(readJsonTree(text));
        const after = atOnce(readJsonTree(atOnce(reconstructJson(compacted)) ?? ""));
        expect(before !== null && after !== null && atOnce(sameTree(before, after))).toBe(true);
        // the platform's own reading agrees
        expect(JSON.parse(atOnce(reconstructJson(compacted)) ?? "")).toEqual(JSON.parse(text));
      }),
      { numRuns: 2000 },
    );
    expect(compactions).toBeGreaterThan(500);
    expect(tables).toBeGreaterThan(100);
  });

  it("reads exactly what JSON.parse takes, but for names that are there twice", () => {
    const broken = fc
      .tuple(value, fc.nat(), fc.constantFrom("", ",", '"', "}", "]", "0", "\\", "@1"))
      .map(([text, at, inserted]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + inserted + text.slice(place + 1);
      });
    fc.assert(
      fc.property(fc.oneof(value, broken, fc.string({ unit: "binary" })), (text) => {
        expect(atOnce(readJsonTree(text)) !== null).toBe(isJson(text) && !hasTwins(text));
      }),
      { numRuns: 2000 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether an object has a name twice: parsing a text without its duplicates gives as many members as it has colons. */
function hasTwins(text: string): boolean {
  let members = 0;
  const count = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if (!Array.isArray(value)) members += Object.keys(value).length;
    for (const item of Object.values(value)) count(item);
  };
  count(JSON.parse(text));
  const colons = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "").split(":").length - 1;
  return colons !== members;
}

describe("a text that is not compacted", () => {
  it.each([
    ["prose", "not JSON at all"],
    ["a name twice", '{ "a": 1,   "a": 2 }'],
    ["a name twice by an escape", '[ { "a": 1,   "\\u0061": 2 } ]'],
    ["a scalar", '   "text"   '],
    ["minified already", '{"a":1}'],
    ["a reference, which is no JSON", '[ { "a": @1 } ]'],
    ["deeper than is read", `${"[ ".repeat(JSON_DEPTH_MAX + 2)}${"]".repeat(JSON_DEPTH_MAX + 2)}`],
    ["ever so deep", "[".repeat(100_000)],
  ])("%s", (_, text) => {
    expect(atOnce(compactJsonText(text))).toBeNull();
  });

  it("rows of ever different names make no table", () => {
    const rows = Array.from({ length: 500 }, (_, at) => ({ [`name${at}`]: at }));
    expect(atOnce(compactJsonText(JSON.stringify(rows, null, 1)))).toBe(JSON.stringify(rows));
  });
});

describe("tables", () => {
  const pretty = (value: unknown): string => JSON.stringify(value, null, 2);

  it("have a header of sorted names and a row per object; absent is empty, plain text unquoted", () => {
    const rows = [
      { name: "Ada", id: 1, note: "said, once" },
      { id: 2, name: "Grace" },
      { id: "3", name: "", note: null },
    ];
    expect(atOnce(compactJsonText(pretty(rows)))).toBe(
      ["[table rows=3]", "id,name,note", '1,Ada,"""said, once"""', "2,Grace,", '"""3""","""""",null'].join("\n"),
    );
  });

  it("arrays of objects inside become blocks of their own, at any depth", () => {
    const line = (sku: string, quantity: number) => ({ sku, quantity, warehouse: "north-2" });
    const orders = [
      { order: 17, lines: [line("A-100", 2), line("B-200", 1)] },
      { order: 18, lines: [line("C-300", 5), line("D-400", 7)] },
    ];
    expect(atOnce(compactJsonText(pretty({ total: 2, data: { orders } })))).toBe(
      [
        '{"total":2,"data":{"orders":@1}}',
        "[table 1 rows=2]",
        "lines,order",
        "@2,17",
        "@3,18",
        "[table 2 rows=2]",
        "quantity,sku,warehouse",
        "2,A-100,north-2",
        "1,B-200,north-2",
        "[table 3 rows=2]",
        "quantity,sku,warehouse",
        "5,C-300,north-2",
        "7,D-400,north-2",
      ].join("\n"),
    );
  });

  it("numbers are copied as they are written", () => {
    const text = '[\n  {"identifier": 12345678901234567890, "amount": 1e400},\n  {"identifier": -0, "amount": 1.0}\n]';
    expect(atOnce(compactJsonText(text))).toBe("[table rows=2]\namount,identifier\n1e400,12345678901234567890\n1.0,-0");
  });
});
