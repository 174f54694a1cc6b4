/** A field that a body has and its schema does not is found at any depth (docs/rules/management-api.md#bodies). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonSchema } from "./json-schema.ts";
import { unknownFields } from "./unknown-field.ts";

/** A schema, a value that it takes, and that value with a field that it does not know: at which path. */
interface Sample {
  readonly schema: JsonSchema;
  readonly value: unknown;
  readonly wrong: readonly { readonly path: string; readonly value: unknown }[];
}

const UNKNOWN = ["unknown", "__proto__", "constructor", "toString"];
const name = fc.constantFrom("a", "b", "policy", "hasOwnProperty");

/** With an own field, whatever its name. */
function withField(value: object, field: string, to: unknown): object {
  return Object.fromEntries([...Object.entries(value).filter(([one]) => one !== field), [field, to]]);
}

const within = (samples: readonly (readonly [string, Sample])[], base: object) =>
  samples.flatMap(([field, { wrong }]) =>
    wrong.map(({ path, value }) => ({
      path: path === "" ? field : `${field}.${path}`,
      value: withField(base, field, value),
    })),
  );

const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<Sample>(
      { schema: { type: "string" }, value: "x", wrong: [] },
      { schema: { type: ["integer", "null"] }, value: null, wrong: [] },
      { schema: {}, value: { anything: [{ at: "all" }] }, wrong: [] },
    ),
    fc
      .record({ fields: fc.uniqueArray(fc.tuple(name, tie("sample")), { selector: ([one]) => one }), how: fc.nat(3) })
      .map(({ fields, how }): Sample => {
        const value = Object.fromEntries(fields.map(([field, inner]) => [field, inner.value]));
        const object = {
          type: how === 1 ? ["object", "null"] : "object",
          properties: Object.fromEntries(fields.map(([field, inner]) => [field, inner.schema])),
        };
        const schema =
          how === 2
            ? { anyOf: [{ type: "null" }, object, { type: "string" }] }
            : how === 3
              ? { allOf: [{ type: "object", properties: {} }, object] }
              : object;
        const here = UNKNOWN.map((field) => ({ path: field, value: withField(value, field, 1) }));
        return { schema, value, wrong: [...here, ...within(fields, value)] };
      }),
    fc.record({ inner: tie("sample"), before: fc.nat(2) }).map(
      ({ inner, before }): Sample => ({
        schema: { type: "array", items: inner.schema },
        value: [...Array<unknown>(before).fill(inner.value), inner.value],
        wrong: inner.wrong.map(({ path, value }) => ({
          path: path === "" ? `${before}` : `${before}.${path}`,
          value: [...Array<unknown>(before).fill(inner.value), value],
        })),
      }),
    ),
    fc.record({ inner: tie("sample"), key: fc.constantFrom("any", "constructor") }).map(
      ({ inner, key }): Sample => ({
        schema: { type: "object", additionalProperties: inner.schema },
        value: { [key]: inner.value },
        wrong: [
          { path: "__proto__", value: withField({ [key]: inner.value }, "__proto__", inner.value) },
          ...within([[key, inner]], { [key]: inner.value }),
        ],
      }),
    ),
  ),
}));

const pathsOf = (schema: JsonSchema, value: unknown) =>
  [...unknownFields(schema, value)].map(({ path }) => path.join("."));

it("takes what the schema knows, and names the path of a field that it does not", () => {
  fc.assert(
    fc.property(sample, ({ schema, value, wrong }) => {
      expect([...unknownFields(schema, value)]).toEqual([]);
      for (const one of wrong.slice(0, 50)) expect([...new Set(pathsOf(schema, one.value))]).toEqual([one.path]);
    }),
  );
});

describe("where a value has choices", () => {
  const of = (kind: string, field: string) => ({
    type: "object",
    required: ["kind"],
    properties: { kind: { const: kind }, [field]: { type: "string" } },
  });
  const schema = { anyOf: [of("a", "x"), of("b", "y")] };

  it("knows the fields of the one that fits, and no other's", () => {
    expect(pathsOf(schema, { kind: "a", x: "1" })).toEqual([]);
    expect(pathsOf(schema, { kind: "b", y: "1" })).toEqual([]);
    expect([...unknownFields(schema, { kind: "a", y: "1" })]).toEqual([{ path: ["y"], known: ["kind", "x"] }]);
  });
});

it("takes nothing below where a schema was cut off", () => {
  const schema = { type: "object", properties: { deep: { not: {} } } };
  expect(pathsOf(schema, { deep: { a: 1 } })).toEqual(["deep"]);
});
