/** The list of what a browser reaches of the Management API, against the API's own document (docs/rules/console.md#live). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { buildDocument } from "../../api/document.ts";
import { LIVE_RULES } from "./live-rules.ts";

/** Routes of the Management API that no browser reaches, and why. */
const NOT_LIVE: Readonly<Record<string, string>> = {
  "GET /settings/jobsched/resolved": "it answers the scheduler's token in clear text",
  "PATCH /models/{id}/managed/provision-error": "the provisioner reports by it",
  "PATCH /replicas/{id}": "the provisioner reports by it",
  "POST /models/{id}/replicas": "jobs are submitted by the provisioner, and others' come from scripts",
  "POST /assistant/key": "the console's server makes the key of its assistant itself",
  "GET /health": "the console's server asks it itself",
  "GET /openapi.json": "it is a document for programs",
};

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

it("decides about every route of the Management API, each once, and about no other", () => {
  const document = buildDocument(control.app, "0") as { paths: Record<string, Record<string, unknown>> };
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace("/api/v1", "")}`),
  );
  const decided = [...LIVE_RULES.map(({ method, path }) => `${method} ${path}`), ...Object.keys(NOT_LIVE)];
  expect(decided.toSorted()).toEqual([...new Set(routes)].sort());
});

it("names only fields that records have", () => {
  const document = buildDocument(control.app, "0") as {
    components: { schemas: Record<string, { properties: object }> };
  };
  const { schemas } = document.components;
  const known: Readonly<Record<string, string>> = {
    "/models": "Model",
    "/usage/logs": "UsageLogEntry",
    "/usage/logs/{request_id}": "UsageLogEntry",
  };
  for (const { path, fields } of LIVE_RULES.filter((rule) => rule.fields !== undefined))
    expect(Object.keys(schemas[known[path] ?? ""]?.properties ?? {})).toEqual(
      expect.arrayContaining([...(fields ?? [])]),
    );
});

it("shows a user nothing of what the operator pays, in whatever read", () => {
  const document = buildDocument(control.app, "0") as {
    paths: Record<string, { get?: { responses: Record<string, object> } }>;
    components: { schemas: Record<string, object> };
  };
  const whole = (node: object | undefined): string =>
    JSON.stringify(node ?? {}).replace(/"#\/components\/schemas\/(\w+)"/g, (_, name: string) =>
      whole(document.components.schemas[name]),
    );
  const having = LIVE_RULES.filter(({ method, path, user }) => {
    const answers = document.paths[`/api/v1${path}`]?.get?.responses;
    return method === "GET" && user !== undefined && whole(answers).includes('"energy_cost_usd"');
  });
  expect(having.length).toBeGreaterThan(4);
  for (const { path, fields, hidden } of having)
    expect({
      path,
      hidesCost: hidden?.includes("energy_cost_usd") ?? fields?.includes("energy_cost_usd") === false,
    }).toEqual({ path, hidesCost: true });
});
