/** Uses the validator of the Worker, because the limits under test are limits of its work. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { validateJsonSchema } from "../../adapters/json-schema.ts";
import type { BoundedSchema } from "./bounded-schema.ts";
import { checkText } from "./check-value.ts";
import { requestedFormatOf } from "./requested-format.ts";

const check = (schema: unknown, value: unknown, validate = validateJsonSchema) =>
  atOnce(
    checkText(
      typeof value === "string" ? value : JSON.stringify(value),
      { schema, json: JSON.stringify(schema) },
      validate,
    ),
  );
const isValid = (schema: unknown, value: unknown) => check(schema, value).kind === "valid";
const problemsOf = (schema: unknown, value: unknown) => {
  const checked = check(schema, value);
  return checked.kind === "valid" ? [] : checked.problems;
};

const PERSON = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1 },
    age: { type: "integer", minimum: 0 },
    tags: { type: "array", items: { enum: ["a", "b"] }, uniqueItems: true },
    home: { $ref: "#/$defs/place" },
  },
  required: ["name", "age"],
  additionalProperties: false,
  $defs: { place: { type: "object", properties: { zip: { type: "string", pattern: "^\\d{5}$" } }, required: ["zip"] } },
};

describe("a text that is checked against a schema", () => {
  it("is the compact JSON of the value when it conforms", () => {
    const text = 'Here: {"name": "Ann", "age": 3.0, "tags": ["a", "b"], "home": {"zip": "12345"}}';
    expect(check(PERSON, text)).toEqual({
      kind: "valid",
      text: '{"name":"Ann","age":3.0,"tags":["a","b"],"home":{"zip":"12345"}}',
    });
  });

  it.each([
    [{ name: "Ann" }, 'At the value: Instance does not have required property "age".'],
    [{ name: "", age: 1 }, "At /name: String is too short (0 < 1)."],
    [{ name: "A", age: 1.5 }, 'At /age: Instance type "number" is invalid. Expected "integer".'],
    [{ name: "A", age: 1, x: 1 }, 'At the value: Property "x" does not match additional properties schema.'],
    [{ name: "A", age: 1, tags: ["c"] }, 'At /tags/0: Instance does not match any of ["a","b"].'],
    [{ name: "A", age: 1, tags: ["a", "a"] }, "At /tags: Duplicate items at indexes 0 and 1."],
    [{ name: "A", age: 1, home: { zip: "1" } }, "At /home/zip: String does not match pattern."],
    [[], 'At the value: Instance type "array" is invalid. Expected "object".'],
  ])("has a problem: %j", (value, problem) => {
    expect(problemsOf(PERSON, value)).toContain(problem);
  });

  it.each([
    ["const", { const: { a: [1] } }, { a: [1] }, { a: [2] }],
    ["multipleOf", { multipleOf: 0.1 }, 0.3, 0.35],
    ["exclusiveMinimum", { exclusiveMinimum: 0 }, 0.1, 0],
    ["maxLength in code points", { items: { maxLength: 1 } }, ["😀"], ["ab"]],
    ["prefixItems", { prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1], [1, 1]],
    ["contains", { contains: { const: 1 }, maxContains: 1 }, [1, 2], [1, 1]],
    ["anyOf", { anyOf: [{ type: "null" }, { type: "array" }] }, null, {}],
    ["oneOf", { oneOf: [{ type: "array" }, { minItems: 1 }] }, [], [1]],
    ["not", { items: { not: { type: "null" } } }, [1], [null]],
    ["if, then, else", JSON.parse('{"if":{"type":"array"},"then":{"minItems":1},"else":{"type":"null"}}'), [1], []],
    ["dependentRequired", { dependentRequired: { a: ["b"] } }, { a: 1, b: 1 }, { a: 1 }],
    ["dependentSchemas", { dependentSchemas: { a: { required: ["b"] } } }, { b: 1 }, { a: 1 }],
    ["propertyNames", { propertyNames: { maxLength: 1 } }, { a: 1 }, { ab: 1 }],
    ["patternProperties", { patternProperties: { "^x": { type: "null" } } }, { x: null, y: 1 }, { x: 1 }],
    ["unevaluatedProperties", { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }, { a: 1 }, { b: 1 }],
    ["unevaluatedItems", { prefixItems: [true], unevaluatedItems: false }, [1], [1, 2]],
    ["minProperties", { minProperties: 1 }, { a: 1 }, {}],
    ["format", { items: { format: "uuid" } }, ["00000000-0000-4000-8000-000000000000"], ["x"]],
    ["format of a date", { items: { format: "date" } }, ["2024-02-29"], ["2023-02-29"]],
    ["anchors", { $defs: { a: { $anchor: "here", type: "null" } }, $ref: "#here" }, null, 1],
    ["the root again", { properties: { next: { $ref: "#" } }, required: ["v"] }, { v: 1 }, { v: 1, next: {} }],
    [
      "a name of the whole",
      { $id: "https://example.com/s", $defs: { a: { type: "null" } }, $ref: "#/$defs/a" },
      null,
      1,
    ],
    ["names of Object.prototype", { properties: { constructor: { type: "null" } } }, {}, { constructor: 1 }],
    ["__proto__", JSON.parse('{"properties":{"__proto__":{"type":"null"}}}'), {}, '{"__proto__":1}'],
    ["false", { properties: { a: false } }, {}, { a: 1 }],
  ])("conforms to %s or not", (_, schema, good, bad) => {
    expect(isValid(schema, good)).toBe(true);
    expect(isValid(schema, bad)).toBe(false);
  });

  it("has at most 8 problems, each of at most 300 characters", () => {
    const schema = { items: { enum: ["x".repeat(10_000)] } };
    const problems = problemsOf(schema, Array(100).fill(1));
    expect(problems).toHaveLength(8);
    for (const problem of problems) expect(problem.length).toBeLessThanOrEqual(300);
  });

  it.each([
    ["a remote reference", { $ref: "https://example.com/schema.json" }],
    ["a reference to a file", { $ref: "other.json#/a" }],
    ["a reference to nowhere", { $ref: "#/$defs/none" }],
    ["a schema with a name of its own within", { properties: { a: { $id: "x", type: "null" } }, required: ["b"] }],
    ["an unknown type", { type: "text" }],
    ["keywords of other types", { required: "a" }],
    ["a list of properties", { properties: [] }],
    ["numbers that are none", { minLength: -1 }],
    ["a schema that is too deep", nested(100)],
    ["a schema that is too large", { type: "null", description: "x".repeat(70_000) }],
    ["too many nodes", { allOf: Array(6000).fill({}), type: "null" }],
    ["long names", { properties: { ["x".repeat(2000)]: {} }, type: "null" }],
    ["names that are not Unicode", { properties: { "\ud800": {} }, type: "null" }],
    ["a reference to itself", { $ref: "#" }],
    ["a circle of references", { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" }],
    ["a malformed pattern", { properties: { a: { pattern: "[" } } }],
    ["a pattern without a bound", { properties: { a: { pattern: "^(a+)+$" } } }],
    ["a list for a schema", []],
  ])("is checked for its syntax only with %s", (_, schema) => {
    expect(isValid(schema, { a: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab" })).toBe(true);
    expect(isValid(schema, "{")).toBe(false);
  });

  it("keeps what it knows of the other properties when a pattern for some was dropped", () => {
    const schema = { patternProperties: { "^(a+)+$": { type: "null" } }, additionalProperties: false, required: ["b"] };
    expect(isValid(schema, { b: 1, aaa: 1 })).toBe(true);
    expect(isValid(schema, { a: 1 })).toBe(false);
  });

  it("refuses names that are not Unicode", () => {
    expect(problemsOf({ type: "object" }, '{"\ud800":1}')).toEqual(["A property name is not well-formed Unicode."]);
  });
});

/** A schema whose only condition lies deep in it. */
function nested(depth: number): object {
  return depth === 0 ? { type: "null" } : { properties: { a: nested(depth - 1) } };
}

/** References that branch: a visit of the first definition visits the last 2 ** 40 times. */
function branching(): object {
  const $defs: Record<string, object> = { d40: {} };
  for (let at = 0; at < 40; at += 1) {
    const next = { $ref: `#/$defs/d${at + 1}` };
    $defs[`d${at}`] = { allOf: [next, next] };
  }
  return { $defs, $ref: "#/$defs/d0" };
}

describe("the work of a validation", () => {
  const members = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`name${at}`, at]));
  const numbers = Array.from({ length: 100_000 }, (_, at) => at);
  const longNames = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`${"%#~/".repeat(4_000)}${at}`, at]));
  const lists = Array.from({ length: 300 }, () => numbers.slice(0, 300));

  it.each<[string, object, unknown]>([
    ["references that branch", branching(), 1],
    ["many conditions for many items", { items: { allOf: Array(2000).fill({ type: "number" }) } }, numbers],
    ["many conditions for many members", { allOf: Array(2000).fill({ additionalProperties: true }) }, members],
    ["many lengths of a long text", { allOf: Array(2000).fill({ minLength: 1 }) }, JSON.stringify("x".repeat(4e6))],
    ["unique lists of equal beginnings", { uniqueItems: true, items: { uniqueItems: true } }, lists],
    ["unique items", { uniqueItems: true }, numbers],
    ["a long enumeration", { items: { enum: Array(10_000).fill("x") }, contains: { enum: ["y"] } }, numbers],
    ["patterns for a long text", { allOf: Array(1000).fill({ pattern: "a*b" }) }, JSON.stringify("a".repeat(1e5))],
    ["patterns of names", { patternProperties: { "a*a*b": {} }, additionalProperties: false }, members],
    ["long names", { additionalProperties: { type: "number" } }, longNames],
    ["required names", { items: { required: Array(5000).fill("a") } }, Array(10_000).fill({})],
  ])("is bounded for %s", (_, schema, value) => {
    let visits = 0;
    check(schema, value, (bounded, given) => {
      const counted = countingVisits(bounded, () => {
        visits += 1;
      });
      return validateJsonSchema(counted, given);
    });
    expect(visits).toBeGreaterThan(0);
    expect(visits).toBeLessThanOrEqual(100_001);
  });

  it("suffices for a large answer of the usual kind", () => {
    const rows = Array.from({ length: 1000 }, (_, at) => ({
      id: at,
      name: `row ${at}`,
      note: "n".repeat(200),
      ok: true,
    }));
    const properties = {
      id: { type: "integer" },
      name: { type: "string" },
      note: { type: "string" },
      ok: { type: "boolean" },
    };
    const schema = { items: { type: "object", properties, required: ["id"], additionalProperties: false } };
    expect(isValid(schema, rows)).toBe(true);
    expect(isValid(schema, [...rows, { id: "x" }])).toBe(false);
  });

  it("ends for any schema of known keywords, and accepts every JSON value or says why not", { tags: ["check"] }, () => {
    const leaf = fc.oneof(
      fc.record({ type: fc.constantFrom("object", "array", "string", "number", "x") }),
      fc.record({ $ref: fc.constantFrom("#", "#/$defs/a", "#/$defs/b", "#/items", "b") }),
      fc.record({
        pattern: fc.string({ unit: fc.constantFrom("a", "b", "(", "|", ")", "*", "+", "[", "]", "^", "$", "\\", ".") }),
      }),
      fc.record({ enum: fc.array(fc.jsonValue({ maxDepth: 1 })), uniqueItems: fc.boolean() }),
      fc.dictionary(fc.constantFrom("required", "minLength", "items", "format", "id", "$id", "const"), fc.jsonValue()),
    );
    const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.record({ properties: fc.dictionary(fc.constantFrom("a", "b", "__proto__"), tie("schema")) }),
        fc.record({ items: tie("schema"), additionalProperties: tie("schema") }),
        fc.record({ anyOf: fc.array(tie("schema")), allOf: fc.array(tie("schema")), not: tie("schema") }),
        fc.record({ $defs: fc.record({ a: tie("schema"), b: tie("schema") }), $ref: fc.constant("#/$defs/a") }),
      ),
    }));
    fc.assert(
      fc.property(schema, fc.jsonValue(), (given, value) => {
        const before = JSON.stringify(given);
        const checked = check(given, JSON.stringify(value));
        if (checked.kind === "invalid") expect(checked.problems.length).toBeGreaterThan(0);
        else expect(JSON.parse(checked.text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(JSON.stringify(given)).toBe(before);
      }),
      { numRuns: 500 },
    );
  });
});

/** The same schema, and the counted work. */
function countingVisits(schema: BoundedSchema, onVisit: () => void, told = new Set<object>()): BoundedSchema {
  if (typeof schema !== "object") return schema;
  for (const value of Object.values(schema)) {
    for (const inner of Array.isArray(value) ? value : [value, ...Object.values(Object(value))]) {
      if (typeof inner === "object" && inner !== null) countingVisits(inner, onVisit, told);
    }
  }
  const read = Object.getOwnPropertyDescriptor(schema, "$recursiveAnchor")?.get?.bind(schema);
  if (read !== undefined && !told.has(schema)) {
    told.add(schema);
    const get = () => {
      onVisit();
      return read() as unknown;
    };
    Object.defineProperty(schema, "$recursiveAnchor", { configurable: true, get });
  }
  return schema;
}

describe("the format that a client asks for", () => {
  it.each([
    [{ type: "json_object" }, { schema: null, json: "null" }],
    [
      { type: "json_schema", json_schema: { name: "x", schema: { type: "null" } } },
      { schema: { type: "null" }, json: '{"type":"null"}' },
    ],
    [
      { type: "json_schema", json_schema: { name: "x" } },
      { schema: null, json: "null" },
    ],
    [
      { type: "json_schema", json_schema: 1 },
      { schema: null, json: "null" },
    ],
    [
      { type: "json_schema", json_schema: { schema: "{}" } },
      { schema: null, json: "null" },
    ],
    [{ type: "text" }, null],
    [{ type: ["json_object"] }, null],
    ["json_object", null],
    [null, null],
    [undefined, null],
    [[], null],
  ])("is read from %j", (given, expected) => {
    expect(atOnce(requestedFormatOf(given))).toEqual(expected);
  });
});
