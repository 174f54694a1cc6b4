/** Every write that can be proposed is shown with what it is about (docs/rules/assistant.md#proposals), by the API's document. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operationNamed } from "../../test/harness/control/assistant-operations.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { liveRoutesOf } from "../api/access.ts";
import { buildDocument } from "../api/document.ts";
import { effectOf } from "./effect.ts";
import { type AssistantOperation, operationsOf } from "./operations.ts";
import { recordIn, recordReads } from "./record-reads.ts";

/** Fields of bodies whose value now nobody is shown: credentials, and what only does something. */
const NO_VALUE_NOW = [
  "api_key",
  "auth_header",
  "clear_slack_webhook",
  "clear_smtp_password",
  "clear_token",
  "slack_webhook_url",
  "token",
  "url",
];

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
}
interface Document {
  readonly paths: Readonly<
    Record<string, { readonly get?: { readonly responses: Readonly<Record<string, unknown>> } }>
  >;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

let control: TestControl;
let document: Document;
let operations: readonly AssistantOperation[];

beforeAll(async () => {
  control = await startControl();
  document = buildDocument(control.app, "0") as Document;
  operations = operationsOf(document, liveRoutesOf(control.app));
});
afterAll(async () => {
  await control.close();
});

/** An answer of a read in which every field has its own name as its value, and every id is the one in `{id}`. */
function sampleOf(schema: Schema, depth = 0): unknown {
  if (schema.$ref !== undefined && depth < 6)
    return sampleOf(document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, depth + 1);
  if (schema.items !== undefined) return [sampleOf(schema.items, depth + 1)];
  const parts = [schema, ...(schema.allOf ?? [])].flatMap(({ properties = {} }) => Object.entries(properties));
  if (parts.length === 0) return "leaf";
  return Object.fromEntries(
    parts.map(([name, inner]) => {
      const value = sampleOf(inner, depth + 1);
      return [name, value === "leaf" ? (name === "id" ? "the-id" : `${name} now`) : value];
    }),
  );
}
function answerTo(path: string): unknown {
  const documented = document.paths[`/api/v1${path.split("?")[0] ?? ""}`]?.get?.responses["200"] as
    | { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
    | undefined;
  return documented === undefined ? null : sampleOf(documented.content["application/json"]?.schema ?? {});
}

it("shows every write with a name, its own or its parent's, and with present values", () => {
  const writes = operations.filter(({ writes: isWrite }) => isWrite);
  expect(writes.length).toBeGreaterThan(50);
  const problems = writes.flatMap((operation) => {
    const { name, method, path, pathNames, body } = operation;
    const properties = Object.keys((body?.["properties"] ?? {}) as object);
    const given = JSON.stringify(Object.fromEntries(properties.map((field) => [field, "then"])));
    const call = { method, path, body: body === null ? null : given };
    const { own, parent } = recordReads(operation, call, operations);
    const read = (one: typeof own) => {
      if (one === null) return null;
      const wanted =
        one.row === null ? one : { ...one, row: { ...one.row, value: one.row.field === "id" ? "the-id" : "name now" } };
      return recordIn(answerTo(one.path), wanted);
    };
    const effect = effectOf(operation, call, { own: read(own), parent: read(parent), linked: new Map() });
    // what is at the end of a path without a name is named by what it belongs to
    const isOfParent = method === "POST" || !path.endsWith("}");
    const isNameless = pathNames.length > 0 && effect.object === null && (!isOfParent || effect.parent === null);
    const unknown = effect.changes.filter(
      ({ from, field }) => method !== "POST" && from === null && !NO_VALUE_NOW.includes(field),
    );
    return [
      ...(isNameless ? [`${name} has no name`] : []),
      ...unknown.map(({ field }) => `${name}: ${field} is not known`),
    ];
  });
  expect(problems).toEqual([]);
});

it.each([
  ["PATCH", "/tenants/{id}/status", "/tenants/1", null],
  ["DELETE", "/tenants/{id}", "/tenants/1", null],
  ["PUT", "/models/{id}/managed", "/models/1/managed", "/models/1"],
  ["PUT", "/models/{id}/endpoints/{endpoint_id}", "/models/1/endpoints?limit=1000", "/models/1"],
  ["DELETE", "/models/{id}/endpoints/{endpoint_id}", "/models/1/endpoints?limit=1000", "/models/1"],
  ["POST", "/models/{id}/endpoints", "/models/1/endpoints", "/models/1"],
  ["POST", "/models/{id}/autotune/apply", "/models/1", null],
  ["PATCH", "/fairshare/groups/{name}/weight", "/fairshare/groups?limit=1000", null],
  ["PUT", "/recipes/{id}", "/recipes?limit=1000", null],
  ["PUT", "/settings/energy", "/settings/energy", null],
  ["POST", "/models", null, null],
])("reads the record of %s %s from %s, and its parent from %s", (method, path, own, parent) => {
  const gets = [
    "/tenants/{id}",
    "/models",
    "/models/{id}",
    "/models/{id}/managed",
    "/models/{id}/endpoints",
    "/fairshare/groups",
    "/recipes",
    "/settings/energy",
  ].map((one) => ({ ...operationNamed("get_tenants"), path: one }));
  const written = { ...operationNamed("delete_tenants_id"), method, path };
  const filled = { method, path: `${path.replaceAll(/\{\w+\}/g, "1")}?x=1`, body: null };
  const reads = recordReads(written, filled, gets);
  expect({ own: reads.own?.path ?? null, parent: reads.parent?.path ?? null }).toEqual({ own, parent });
});

describe("the record in an answer", () => {
  const list = (field: "id" | "name", value: string) => ({ path: "/x", row: { field, value }, member: null });
  const rows = [null, 1, { id: "a", name: "A" }, { id: "b", name: "a" }];

  it("is the row that the path names, one member of the answer, or the whole answer", () => {
    expect(recordIn(rows, list("id", "B"))).toEqual(rows[3]);
    expect(recordIn(rows, list("name", "a"))).toEqual(rows[3]);
    expect(recordIn(rows, list("name", "b"))).toBeNull();
    expect(recordIn({ summary: { a: 1 }, checks: [] }, { path: "/x", row: null, member: "summary" })).toEqual({ a: 1 });
    expect(recordIn({ a: 1 }, { path: "/x", row: null, member: null })).toEqual({ a: 1 });
  });

  it.each([[null], [[]], ["x"], [{ summary: [] }], [{}]])("is not found in %j", (answer) => {
    expect(recordIn(answer, list("id", "a"))).toBeNull();
    expect(recordIn(answer, { path: "/x", row: null, member: "summary" })).toBeNull();
  });
});
