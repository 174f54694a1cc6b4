/**
 * What a write makes of the record that it is about stands on its card, to the value (docs/rules/assistant.md#proposals): every field
 * of every such write of the API document, with the values that mean something else than they say, against what the Management
 * API then does.
 *
 * @module-tag long
 */
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { User } from "../../shared/schema/user.ts";
import type { AssistantChange, AssistantRun } from "../../shared/wire/assistant.ts";
import { type AssistantConsole, startAssistantConsole } from "../../test/harness/assistant-console.ts";
import { targetOf, unique } from "../../test/harness/route-targets.ts";
import { startToolModel, type ToolModel } from "../../test/harness/tool-model.ts";
import { liveRoutesOf } from "../api/access.ts";
import { buildDocument } from "../api/document.ts";
import { type AppDeps, createApp } from "../app.ts";
import { type AssistantOperation, operationsOf } from "../assistant/operations.ts";
import { recordIn, recordReads, type StoredRecord } from "../assistant/record-reads.ts";

interface Documented {
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly example: StoredRecord } } };
}

const APP = createApp({ adminToken: "" } as unknown as AppDeps);
const DOCUMENT = buildDocument(APP, "0") as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
};
const OPERATIONS = operationsOf(DOCUMENT, liveRoutesOf(APP));
/** Writes that change a record there is. The capacity of a cell is no record of the database. */
const CHANGES = OPERATIONS.filter(
  ({ method, path, body }) =>
    body !== null && path !== "/capacity" && (["PUT", "PATCH"].includes(method) || path.endsWith("/autotune/apply")),
);
/** What nobody sets: the time of a change, and what a change of checks brings forward. */
const NOT_SET = ["updated_at", "rev", "next_check_at", "disabled_by", "muted_by"];
/** Without these nobody could be asked any more. */
const NEEDED: Readonly<Record<string, StoredRecord>> = {
  "PUT /settings/assistant": { enabled: true, brain_model: "brain" },
  // One of the two has to be there, and not both.
  "PUT /models/{id}/managed": { launch_command: "serve", script_body: "" },
};

let model: ToolModel;
let assistant: AssistantConsole;
let tenantId: string;

beforeAll(async () => {
  model = await startToolModel();
  assistant = await startAssistantConsole(model.url);
  tenantId = (await assistant.api<{ id: string }>("POST", "/tenants", { name: "of a user" })).id;
  await assistant.testing.signIn(assistant.testing.browser());
});
afterAll(async () => {
  await assistant.testing.close();
  await model.close();
});

const send = async (method: string, path: string, body?: unknown): Promise<Response> =>
  await assistant.testing.control.request(method, path, body as object);

const exampleOf = ({ method, path }: AssistantOperation): StoredRecord =>
  DOCUMENT.paths[`/api/v1${path}`]?.[method.toLowerCase()]?.requestBody?.content["application/json"].example ?? {};

/** The values to try in a field: those that schemas transform, those that clear, and another one. */
function valuesOf(schema: StoredRecord, now: unknown): readonly unknown[] {
  const types = [schema["type"] ?? []].flat();
  const some = Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : null;
  const isNumber = types.includes("integer") || types.includes("number");
  return [
    now,
    ...(types.includes("null") && some === null ? [null] : []),
    ...(types.includes("boolean") ? [true, false] : []),
    ...(some ?? []),
    ...(isNumber ? [0, typeof now === "number" ? now + 1 : 2] : []),
    ...(types.includes("string") && some === null ? ["", "  "] : []),
    ...(types.includes("array") ? [[], [""]] : []),
    ...(types.includes("object") ? [{}] : []),
  ];
}

/** Few fields at a time, so that each test is short. */
const FIELDS_MAX = 8;
const PARTS = CHANGES.flatMap((operation) => {
  const names = Object.keys(operation.body?.["properties"] ?? {});
  return Array.from({ length: Math.ceil(names.length / FIELDS_MAX) }, (_, at) => {
    const from = at * FIELDS_MAX;
    return [`${operation.method} ${operation.path}`, from, operation] as const;
  });
});

it.each(PARTS)("%s does what its card says, from field %i on", async (route, from, operation) => {
  const { method, path: template, body: schema } = operation;
  const target =
    template === "/users/{id}"
      ? { path: `/api/v1/users/${(await assistant.api<User[]>("GET", "/users?q=ann"))[0]?.id}`, record: null }
      : await targetOf(send, `/api/v1${template}`);
  const { model_name: _, ...fields } = { ...exampleOf(operation), ...NEEDED[route] } as StoredRecord;
  const full = {
    ...fields,
    ...(Object.hasOwn(fields, "name") ? { name: target.record?.["name"] } : {}),
    ...(Object.hasOwn(fields, "tenant_id") ? { tenant_id: tenantId } : {}),
  };
  const required = Array.isArray(schema?.["required"]) ? (schema["required"] as string[]) : [];
  const properties = schema?.["properties"] as Readonly<Record<string, StoredRecord>>;
  const parameters = parametersOf(template, target.path);
  const read = recordReads(
    operation,
    { method, path: target.path.slice("/api/v1".length), body: null },
    OPERATIONS,
  ).own;
  if (read === null) throw new Error(`${route}: nothing says what it changes`);
  const now = async (): Promise<StoredRecord> =>
    recordIn(await (await send("GET", `/api/v1${read.path}`)).json(), read) ?? {};
  const problems: unknown[] = [];
  let tried = 0;
  const asked = Object.entries(properties)
    .slice(from, from + FIELDS_MAX)
    .filter(([name]) => !Object.hasOwn(NEEDED[route] ?? {}, name));
  for (const [name, property] of asked) {
    for (const value of valuesOf(property, full[name as keyof typeof full])) {
      const filled = await send(method, target.path, full);
      expect({ status: filled.status, problem: filled.ok ? "" : await filled.text() }).toEqual({
        status: 200,
        problem: "",
      });
      const before = await now();
      const body = {
        ...Object.fromEntries(required.map((one) => [one, full[one as keyof typeof full]])),
        ...NEEDED[route],
        [name]: value,
      };
      const card = await assistant.proposed(operation.name, parameters, body);
      const ran = (await (await assistant.run(card.token)).json()) as AssistantRun;
      if (ran.status !== 200) continue;
      tried += 1;
      const complaints = complaintsAbout(route, card.changes, before, await now());
      if (complaints.length > 0) problems.push([body, ...complaints]);
    }
  }
  expect(tried > 0 || asked.length === 0).toBe(true);
  expect(problems).toEqual([]);
});

const CREATIONS = OPERATIONS.filter(({ method, path }) =>
  [
    "/tenants",
    "/tenants/{id}/keys",
    "/fairshare/groups",
    "/mcp-servers",
    "/models",
    "/models/{id}/endpoints",
    "/recipes",
  ].some((one) => method === "POST" && path === one),
);

it.each(CREATIONS.map((operation) => [operation.path, operation] as const))(
  "POST %s makes what its card says",
  async (template, operation) => {
    const target = await targetOf(send, `/api/v1${template}`);
    const full = exampleOf(operation);
    const properties = operation.body?.["properties"] as Readonly<Record<string, StoredRecord>>;
    const required = Array.isArray(operation.body?.["required"]) ? (operation.body["required"] as string[]) : [];
    const problems: unknown[] = [];
    let made = 0;
    for (const [name, property] of Object.entries(properties)) {
      for (const value of valuesOf(property, full[name])) {
        const names = ["name", "model_name"].filter((one) => required.includes(one) && one !== name);
        const body = {
          ...Object.fromEntries(required.map((one) => [one, full[one]])),
          ...Object.fromEntries(names.map((one) => [one, unique(one)])),
          [name]: value,
        };
        const card = await assistant.proposed(operation.name, parametersOf(template, target.path), body);
        const ran = (await (await assistant.run(card.token)).json()) as AssistantRun;
        if (ran.status !== 200) continue;
        made += 1;
        const answer = JSON.parse(ran.answer) as StoredRecord & { readonly key?: StoredRecord };
        const record = answer.key ?? answer;
        // Members that are left out of an object get values of the service's own.
        const isMade = ({ field, to }: AssistantChange): boolean =>
          to === "when it is run" || isSaid(to, record[field]) || (field === "health" && to === "{}");
        const wrong = card.changes.filter((one) => Object.hasOwn(record, one.field) && !isMade(one));
        if (wrong.length > 0) problems.push([body, wrong, wrong.map(({ field }) => record[field])]);
      }
    }
    expect(made).toBeGreaterThan(0);
    expect(problems).toEqual([]);
  },
);

/** Whether a text of a card says this value. */
function isSaid(text: string | null, value: unknown): boolean {
  return text !== null && /^\W|^(null|true|false|\d)/.test(text) && isDeepStrictEqual(JSON.parse(text), value);
}

/** Where a card is wrong about what became of a record. */
function complaintsAbout(
  route: string,
  changes: readonly AssistantChange[],
  before: StoredRecord,
  after: StoredRecord,
) {
  const policy = route.endsWith("/compression") ? "compression_policy" : "guardrails_policy";
  const rowOf = (name: string) => changes.find(({ field }) => name === (field === "policy" ? policy : field));
  return Object.keys(after).flatMap((name): readonly unknown[] => {
    const [was, is] = [before[name], after[name]];
    const row = rowOf(name);
    if (row === undefined)
      return isDeepStrictEqual(was, is) || NOT_SET.includes(name) ? [] : [[name, "is not shown", was, is]];
    const isNow = row.to === "when it is run" && Math.abs(Date.now() - Date.parse(String(after[name]))) < 60_000;
    return [
      ...(isSaid(row.from, was) ? [] : [[name, "was", was, row.from]]),
      ...(isNow || isSaid(row.to, is) ? [] : [[name, "is", is, row.to]]),
    ];
  });
}

function parametersOf(template: string, filled: string): Readonly<Record<string, string>> {
  const values = filled.split("/").slice(2);
  return Object.fromEntries(
    `/v1${template}`
      .split("/")
      .flatMap((one, at) =>
        one.startsWith("{") ? [[one.slice(1, -1), decodeURIComponent(values[at - 1] ?? "")]] : [],
      ),
  );
}
