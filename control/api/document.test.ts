/** @module-tag check */
import core, { type RulesetDefinition } from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { usageLogsQuerySchema } from "../../shared/schema/usage.ts";
import { type ApiDocument, readDocument } from "../../test/harness/api-document.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let document: ApiDocument;

beforeAll(async () => {
  control = await startControl();
  document = readDocument(await (await control.app.request("/api/v1/openapi.json")).text());
});
afterAll(async () => {
  await control.close();
});

interface Schema {
  readonly $ref?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

const pascal = (name: string): string => name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The names of the types inside a schema: an enumeration or object is named after the fields that lead to it. */
function inlineNames(name: string, schema: Schema): readonly string[] {
  const { properties = {}, items, anyOf = [], allOf = [] } = schema;
  const inner = Object.entries(properties).flatMap(([field, one]) =>
    parts(one).some(({ $ref }) => $ref !== undefined) ? [] : [[name + pascal(field), one] as const],
  );
  const typed = inner.filter(([, one]) => parts(one).some(isType)).map(([own]) => own);
  const below = [...[items ?? []].flat(), ...anyOf, ...allOf].map((one) => [name, one] as const);
  return [...typed, ...[...inner, ...below].flatMap(([own, one]) => inlineNames(own, one))];
}

const parts = ({ items, anyOf = [], ...one }: Schema): readonly Schema[] => [
  one,
  ...[items ?? []].flat().flatMap(parts),
  ...anyOf.flatMap(parts),
];

/** The properties of every object in a document, by their names. */
function* propertiesIn(node: unknown): Generator<readonly [name: string, schema: Schema]> {
  if (typeof node !== "object" || node === null) return;
  if ("properties" in node) yield* Object.entries((node as Schema).properties ?? {});
  for (const inner of Object.values(node)) yield* propertiesIn(inner);
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** The names of the fields in the examples of bodies and answers whose value is an ISO time. */
function* timesIn(node: unknown): Generator<string> {
  if (typeof node !== "object" || node === null) return;
  for (const [name, value] of Object.entries(node)) {
    if (typeof value === "string" && ISO_TIME.test(value)) yield name;
    else yield* timesIn(value);
  }
}

const isType = ({ enum: values, type, properties }: Schema): boolean =>
  values !== undefined || properties !== undefined || [type].flat().includes("object");

/** One finding for every operation that breaks a rule. */
const findings = (holds: (operation: ApiDocument["operations"][number]) => boolean): readonly string[] =>
  document.operations.filter((operation) => !holds(operation)).map(({ method, path }) => `${method} ${path}`);

describe("the document", () => {
  it("has nothing that the oas ruleset of spectral finds fault with", { tags: ["check"] }, async () => {
    const spectral = new core.Spectral();
    spectral.setRuleset({ extends: [rulesets.oas as RulesetDefinition] });
    const found = await spectral.run(JSON.parse(document.text) as Record<string, unknown>);
    expect(found.map(({ code, path, message }) => `${code} ${path.join(".")} ${message}`)).toEqual([]);
  });

  it("names every operation once, and every parameter of its path", () => {
    const ids = document.operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { method, path, parameters } of document.operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const documented = parameters.filter((parameter) => parameter.in === "path" && parameter.required);
      expect({ method, path, documented: documented.map(({ name }) => name) }).toEqual({
        method,
        path,
        documented: inPath,
      });
    }
  });

  it("types the parameters of queries: numbers, flags, and texts", () => {
    const types = new Map<string, Set<unknown>>();
    for (const { parameters } of document.operations)
      for (const { in: place, name, schema } of parameters)
        if (place === "query") types.set(name, (types.get(name) ?? new Set()).add(schema["type"]));
    const named = (type: string): readonly string[] =>
      [...types]
        .filter(([, seen]) => seen.has(type))
        .map(([name]) => name)
        .sort();
    expect(named("boolean")).toEqual(["disabled", "dry_run", "include_internal", "traced_only"]);
    expect(named("integer")).toEqual([
      "before_ms",
      "bucket_ms",
      "limit",
      "min_queue_wait_ms",
      "min_total_ms",
      "since_ms",
      "top",
      "until_ms",
    ]);
    expect([...types].filter(([, seen]) => seen.size !== 1)).toEqual([]);
  });

  it("says date-time of every time, except for the build's, which can be any text", () => {
    const { components, paths } = JSON.parse(document.text) as Record<"components" | "paths", unknown>;
    const exampled = new Set(document.operations.flatMap((operation) => [...timesIn(operation)]));
    const times = [...propertiesIn([components, paths])].filter(
      ([name]) => exampled.has(name) || /(^|_)(at|since|until|from)$/.test(name),
    );
    const texts = times.filter(([, schema]) => parts(schema).some(({ type }) => [type].flat().includes("string")));
    const isTime = (schema: Schema): boolean => parts(schema).some(({ format }) => format === "date-time");
    expect(new Set(texts.filter(([, schema]) => !isTime(schema)).map(([name]) => name))).toEqual(new Set(["built_at"]));
    expect(texts.length).toBeGreaterThan(40);
  });

  it("has no component with the name that a generator gives to a type inside another one", () => {
    const { components, info } = JSON.parse(document.text) as {
      components: { schemas: Record<string, Schema> };
      info: { license: unknown };
    };
    const inline = Object.entries(components.schemas).flatMap(([name, schema]) => inlineNames(name, schema));
    expect(inline.filter((name) => name in components.schemas)).toEqual([]);
    expect(inline).toContain("TenantStatus");
    expect(info.license).toEqual({ name: "Apache-2.0", identifier: "Apache-2.0" });
  });

  it("says of every operation what it does, needs and answers, errors included", () => {
    expect(
      findings(({ summary, description, tags }) => summary !== "" && description !== "" && tags.length === 1),
    ).toEqual([]);
    expect(
      findings(
        ({ responses, security }) => security?.length === 0 || ["401", "503"].every((status) => status in responses),
      ),
    ).toEqual([]);
    expect(
      findings(
        ({ requestBody, responses }) =>
          requestBody === undefined || ["400", "413"].every((status) => status in responses),
      ),
    ).toEqual([]);
    expect(findings(({ path, responses }) => !path.includes("{") || "404" in responses)).toEqual([]);
    expect(
      findings(({ method, responses }) => {
        const successes = Object.keys(responses).filter((status) => status.startsWith("2"));
        return successes.length === 1 && successes[0] === (method === "delete" ? "204" : "200");
      }),
    ).toEqual([]);
  });

  it("shows the actor's header with every write, and the idempotency key with creates", () => {
    const headers = (operation: ApiDocument["operations"][number]) =>
      operation.parameters.filter((parameter) => parameter.in === "header").map(({ name }) => name);
    expect(
      findings((operation) => headers(operation).includes("x-gateway-audit-actor") === (operation.method !== "get")),
    ).toEqual([]);
    const creates = document.operations.filter((operation) => headers(operation).includes("idempotency-key"));
    expect(creates.map(({ path }) => path)).toEqual(expect.arrayContaining(CREATES));
    expect(creates.filter(({ method, responses }) => method !== "post" || !("409" in responses))).toEqual([]);
  });

  it("gives every body and answer an example that its schema accepts", () => {
    const wrong: string[] = [];
    for (const { method, path, requestBody, responses } of document.operations) {
      const contents = [
        ...Object.values(requestBody?.content ?? {}),
        ...Object.values(responses).flatMap(({ content = {} }) => Object.values(content)),
      ];
      for (const { schema, example } of contents) {
        if (example === undefined) wrong.push(`${method} ${path}: no example`);
        for (const complaint of document.complaints(schema, example)) wrong.push(`${method} ${path}: ${complaint}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

/** Routes that honour Idempotency-Key (docs/rules/management-api.md#idempotency). */
const CREATES = [
  "/api/v1/tenants",
  "/api/v1/tenants/{id}/keys",
  "/api/v1/models",
  "/api/v1/models/{id}/endpoints",
  "/api/v1/fairshare/groups",
  "/api/v1/mcp-servers",
];

describe("the reference at /docs", () => {
  it("is served from here, without a token, and loads nothing from elsewhere", async () => {
    const page = await control.app.request("/docs");
    expect({ status: page.status, "content-type": page.headers.get("content-type") }).toEqual({
      status: 200,
      "content-type": "text/html; charset=utf-8",
    });
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    const html = await page.text();
    expect(html).not.toMatch(/https?:\/\//);
    const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
    expect(links).toHaveLength(4);
    for (const link of links) {
      const file = await control.app.request(`/${link}`);
      expect({ link, status: file.status, hasContent: (await file.arrayBuffer()).byteLength > 0 }).toEqual({
        link,
        status: 200,
        hasContent: true,
      });
    }
    expect((await control.app.request("/docs/package.json")).status).toBe(404);
  });
});

it("clamps a limit of any size, and refuses what is not a limit", async () => {
  for (const limit of ["1", "1000", "1001", "9".repeat(400)])
    expect({ limit, status: (await control.request("GET", `/api/v1/tenants?limit=${limit}`)).status }).toEqual({
      limit,
      status: 200,
    });
  for (const limit of ["0", "-1", "1.5", "", "ten"])
    expect({ limit, status: (await control.request("GET", `/api/v1/tenants?limit=${limit}`)).status }).toEqual({
      limit,
      status: 400,
    });
  expect(usageLogsQuerySchema.parse({ limit: "9".repeat(400) }).limit).toBe(200);
});
