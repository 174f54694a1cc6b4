/**
 * Bodies and queries that a route must refuse, made from its schema: each is wrong in one place, and has the name of that
 * place.
 */
import type { ApiDocument } from "./api-document.ts";

type Schema = Readonly<Record<string, unknown>>;
type Body = Readonly<Record<string, unknown>>;

interface Wrong {
  /** A short text for the message of a failing test. */
  readonly what: string;
  readonly field: string;
  readonly body: Body;
}

const OF_EVERY_TYPE: readonly unknown[] = ["\u0001 no value of this field", 12.5, true, { a: 1 }, [1], null];

export function fillIn(path: string, values: Readonly<Record<string, unknown>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
}

/** Bodies that lack a required field, have a value of another type, or exceed a bound. */
export function wrongBodies(document: ApiDocument, schema: Schema, example: Body): readonly Wrong[] {
  const { properties = {}, required = [] } = document.resolved(schema) as {
    properties?: Readonly<Record<string, Schema>>;
    required?: readonly string[];
  };
  return [
    ...required.map((field) => ({
      what: "is missing",
      field,
      body: Object.fromEntries(Object.entries(example).filter(([name]) => name !== field)),
    })),
    ...Object.entries(properties).flatMap(([field, property]) =>
      wrongValues(document, property).map((value) => ({
        what: `is ${JSON.stringify(value)?.slice(0, 40)}`,
        field,
        body: { ...example, [field]: value },
      })),
    ),
  ];
}

function wrongValues(document: ApiDocument, property: Schema): readonly unknown[] {
  const bounds = property as { minimum?: number; maximum?: number; maxLength?: number; maxItems?: number };
  const beyond = [
    ...(bounds.minimum === undefined ? [] : [bounds.minimum - 1]),
    ...(bounds.maximum === undefined || bounds.maximum >= Number.MAX_SAFE_INTEGER ? [] : [bounds.maximum + 1]),
    ...(bounds.maxLength === undefined ? [] : ["x".repeat(bounds.maxLength + 1)]),
    ...(bounds.maxItems === undefined ? [] : [Array.from({ length: bounds.maxItems + 1 }, (_, at) => `x${at}`)]),
  ];
  return [...OF_EVERY_TYPE, ...beyond].filter((value) => document.complaints(property, value).length > 0);
}

/** Values of a field's type that break careless services. */
export function hostileValues(property: Schema): readonly unknown[] {
  const types = [property["type"] ?? []].flat();
  const texts = ["\0", "\ud800", "", "   ", "'; DROP TABLE tenants; --", "x".repeat(100_000), "\u202e\u0007"];
  const numbers = [-0, 1e-320, 1e308, Number.MAX_SAFE_INTEGER, -1];
  return [
    ...(types.includes("string") ? texts : []),
    ...(types.includes("number") || types.includes("integer") ? numbers : []),
  ];
}
