/**
 * What a body may name (docs/rules/management-api.md#bodies): fields that exist, and of the others their present value.
 *
 * @module-tag long
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { type Operation, readDocument } from "../../test/harness/api-document.ts";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";
import { type Send, targetOf, unique } from "../../test/harness/route-targets.ts";
import { fillIn } from "../../test/harness/wrong-values.ts";
import { type AppDeps, createApp } from "../app.ts";
import { buildDocument } from "./document.ts";
import { OBSERVED } from "./strict-body.ts";

const document = readDocument(JSON.stringify(buildDocument(createApp({ adminToken: "" } as unknown as AppDeps), "")));
let control: TestControl;
let tenant: Tenant;

beforeAll(async () => {
  control = await startControl();
  tenant = (await (await control.request("POST", "/api/v1/tenants", { name: "strict" })).json()) as Tenant;
});
afterAll(async () => {
  await control.close();
});

const send: Send = async (method, path, body, headers = {}) =>
  await control.request(method.toUpperCase(), path, body, { ...headers });
type Fields = Readonly<Record<string, unknown>>;

interface Refused {
  readonly status: number;
  readonly body: {
    readonly error?: { readonly code: string; readonly message: string; readonly param: string | null };
  };
}
const answerOf = async (response: Response): Promise<Refused> => ({
  status: response.status,
  body: (await response.json()) as Refused["body"],
});

const contentOf = ({ requestBody }: Operation) => requestBody?.content["application/json"];
const namesOf = (schema: Fields | undefined): readonly string[] =>
  Object.keys((document.resolved(schema ?? {}) as { properties?: object }).properties ?? {});

const withBody = document.operations.filter((operation) => contentOf(operation) !== undefined);

it.each(withBody.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
  "%s refuses a field that does not exist, and names the nearest one",
  async (_, operation) => {
    const path = fillIn(operation.path, { id: randomUUID(), endpoint_id: randomUUID(), name: "nobody" });
    const example = contentOf(operation)?.example as Fields;
    const [known = ""] = namesOf(contentOf(operation)?.schema);
    const wrong = `${known}_`;
    const answer = await answerOf(await send(operation.method, path, { ...example, [wrong]: 1 }));
    expect(answer).toMatchObject({
      status: 400,
      body: {
        error: {
          code: "unknown_field",
          message: `unknown field '${wrong}'; did you mean '${known}'?`,
          param: wrong,
          details: [{ path: wrong, message: `is not a field; did you mean '${known}'?` }],
        },
      },
    });
  },
);

/** People make themselves, by signing in to the console. */
const NO_RECORD = ["/api/v1/users/{id}"];
const changes = withBody.filter(
  ({ method, path, responses }) =>
    (method === "put" || method === "patch") &&
    !NO_RECORD.includes(path) &&
    namesOf(responses["200"]?.content?.["application/json"]?.schema).length > 0,
);

describe.each(changes.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
  "%s, sent a field of the record that it does not set,",
  (_, operation) => {
    const answer = operation.responses["200"]?.content?.["application/json"]?.schema;
    const body = namesOf(contentOf(operation)?.schema);
    const ignored = ["warnings", ...(OBSERVED[String(answer?.["$ref"]).split("/").at(-1) ?? ""] ?? [])];
    const others = namesOf(answer).filter((name) => ![...body, ...ignored, "rev"].includes(name));

    it("takes its present value, and any of what the gateway observes, and refuses others", async () => {
      if (others.length === 0) return;
      const target = await targetOf(send, operation.path);
      const example = contentOf(operation)?.example as Fields;
      const names = Object.fromEntries(
        ["name", "model_name", "job_id", "endpoint_id"]
          .filter((name) => name in example)
          .map((name) => [name, target.record?.[name] ?? null]),
      );
      const sent = { ...example, ...names };
      const written = await send(operation.method, target.path, sent);
      expect({ status: written.status, text: await written.clone().text() }).toMatchObject({ status: 200 });
      const record = (await written.json()) as Fields;
      const wrong = Object.fromEntries(others.map((name) => [name, { no: "value of it" }]));
      expect(await answerOf(await send(operation.method, target.path, { ...sent, ...wrong }))).toMatchObject({
        status: 400,
        body: { error: { code: "validation_failed", details: others.map((name) => ({ path: name })) } },
      });
      const observed = ignored.filter((name) => namesOf(answer).includes(name));
      const present = Object.fromEntries([
        ...others.map((name) => [name, record[name]]),
        ...observed.map((name) => [name, "of a moment ago"]),
      ]);
      const taken = await send(operation.method, target.path, { ...sent, ...present });
      expect({ status: taken.status, text: await taken.text() }).toMatchObject({ status: 200 });
    });
  },
);

it("takes settings back as they were read, also what only the answer has within an object", async () => {
  const path = "/api/v1/settings/alerts";
  const email = { smtp_host: "mail.test", smtp_port: 25, from_address: "a@b.test", recipients: ["c@d.test"] };
  expect((await control.request("PUT", path, { email })).status).toBe(200);
  const read = (await (await control.request("GET", path)).json()) as { email: Fields; rev: number };
  expect(read.email).toMatchObject({ ...email, password_set: expect.any(Boolean) });
  const taken = await control.request("PUT", path, { ...read, warnings: ["of a write before"] });
  const body = (await taken.json()) as Fields;
  expect({ status: taken.status, body }).toEqual({ status: 200, body: { ...read, rev: body["rev"] } });
  const wrong = { email: { ...read.email, password_set: read.email["password_set"] !== true } };
  expect(await answerOf(await control.request("PUT", path, wrong))).toMatchObject({
    status: 400,
    body: {
      error: { details: [{ path: "email.password_set", message: "cannot be changed: it is set by the gateway" }] },
    },
  });
  const nested = { email: { ...read.email, pasword_set: false } };
  expect(await answerOf(await control.request("PUT", path, nested))).toMatchObject({
    status: 400,
    body: { error: { code: "unknown_field", param: "email.pasword_set" } },
  });
});

it("refuses a body of ten thousand levels as every other wrong value", async () => {
  const text = `{"allowed_models":${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const address = `http://control.test/api/v1/tenants/${tenant.id}/keys`;
  const answer = await control.app.request(address, { method: "POST", headers, body: text });
  expect(await answerOf(answer)).toMatchObject({ status: 400, body: { error: { code: "validation_failed" } } });
});

it("names the route that sets a field, and says of others that none does", async () => {
  const path = `/api/v1/tenants/${tenant.id}/weight`;
  const answer = await answerOf(
    await control.request("PATCH", path, { weight: 7, max_in_flight: 3, created_at: "2020-01-01T00:00:00.000Z" }),
  );
  expect(answer).toMatchObject({
    status: 400,
    body: {
      error: {
        details: [
          { path: "max_in_flight", message: "cannot be changed here: use PATCH /api/v1/tenants/{id}" },
          { path: "created_at", message: "cannot be changed: it is set by the gateway" },
        ],
      },
    },
  });
  expect(await (await control.request("GET", `/api/v1/tenants/${tenant.id}`)).json()).toEqual(tenant);
});

it("refuses a misspelt cap in place of removing the cap", async () => {
  const path = `/api/v1/tenants/${tenant.id}/budget`;
  await control.request("PATCH", path, { budget_cost_usd: 1 });
  const answer = await answerOf(await control.request("PATCH", path, { budget_cost: 2 }));
  expect(answer).toMatchObject({
    status: 400,
    body: { error: { message: "unknown field 'budget_cost'; did you mean 'budget_cost_usd'?" } },
  });
  const read = await control.request("GET", `/api/v1/tenants/${tenant.id}`);
  expect(await read.json()).toMatchObject({ budget_cost_usd: 1 });
});

it("looks at every depth of a body, and names each wrong field", async () => {
  const path = `/api/v1/tenants/${tenant.id}`;
  const body = {
    weekly_windows: [{ day: 1, start_min: 0, end_min: 60, zone: "UTC" }],
    guardrails_policy: { acton: "block" },
  };
  const answer = await answerOf(await control.request("PATCH", path, body));
  expect(answer).toMatchObject({
    status: 400,
    body: {
      error: {
        code: "unknown_field",
        details: [
          { path: "weekly_windows.0.zone" },
          { path: "guardrails_policy.acton", message: "is not a field; did you mean 'action'?" },
        ],
      },
    },
  });
});

it("names at most twenty wrong fields of a body that has more, at a bounded length", async () => {
  const body = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`${at}${"x".repeat(300)}`, at]));
  const answer = await answerOf(await control.request("PUT", `/api/v1/tenants/${tenant.id}`, { ...body, yy: 1 }));
  const { details = [] } = (answer.body.error ?? {}) as { details?: readonly { path: string }[] };
  expect({ count: details.length, isShort: details.every(({ path }) => path.length <= 200) }).toEqual({
    count: 20,
    isShort: true,
  });
});

describe("a creation", () => {
  const REQUIRED: Readonly<Record<string, () => Fields>> = {
    "/api/v1/tenants": () => ({ name: unique("null") }),
    "/api/v1/tenants/{id}/keys": () => ({}),
    "/api/v1/models": () => ({ model_name: unique("null"), upstream_model: "u" }),
    "/api/v1/models/{id}/endpoints": () => ({ name: unique("null"), api_base: "http://127.0.0.1:9/v1" }),
    "/api/v1/models/{id}/replicas": () => ({ job_id: unique("job") }),
    "/api/v1/fairshare/groups": () => ({ name: unique("null") }),
    "/api/v1/mcp-servers": () => ({ name: unique("null"), upstream_url: "http://127.0.0.1:9/v1" }),
    "/api/v1/recipes": () => ({ name: unique("null"), body: {} }),
  };
  const creates = withBody.filter(
    ({ path, parameters }) => parameters.some(({ name }) => name === "idempotency-key") && path in REQUIRED,
  );

  it.each(creates.map((operation) => [operation.path, operation] as const))(
    "POST %s takes null as the default",
    async (_, operation) => {
      const required = REQUIRED[operation.path] ?? (() => ({}));
      const { path } = await targetOf(send, operation.path);
      const names = namesOf(contentOf(operation)?.schema).filter((name) => !(name in required()));
      const nulls = Object.fromEntries(names.map((name) => [name, null]));
      const [plain, withNulls] = [
        await send("POST", path, required()),
        await send("POST", path, { ...nulls, ...required() }),
      ];
      expect({ status: withNulls.status, text: await withNulls.clone().text() }).toMatchObject({ status: 200 });
      const settable = async (response: Response): Promise<Fields> => {
        const record = (await response.json()) as Fields;
        const fields = (record["key"] ?? record) as Fields;
        return Object.fromEntries(names.map((name) => [name, fields[name]]));
      };
      expect(await settable(withNulls)).toEqual(await settable(plain));
    },
  );

  it("refuses what the gateway sets, and takes every field that an admin sets", async () => {
    const refused = await control.request("POST", "/api/v1/tenants", { ...tenant, name: unique("copy") });
    expect(await answerOf(refused)).toMatchObject({
      status: 400,
      body: {
        error: {
          param: "id",
          details: expect.arrayContaining([{ path: "id", message: "cannot be changed: it is set by the gateway" }]),
        },
      },
    });
    const {
      id: _id,
      created_at: _created,
      updated_at: _updated,
      rev: _rev,
      budget_started_at: _started,
      ...settable
    } = tenant;
    const body = {
      ...settable,
      name: unique("copy"),
      status: "suspended",
      active_from: "2026-01-01T00:00:00.000Z",
      weekly_windows: [{ day: 1, start_min: 0, end_min: 60 }],
      budget_tokens: 5,
      allowed_models: ["a"],
      guardrails_policy: { action: "redact", input_scanners: ["pii"] },
      tracing_enabled: true,
    };
    const made = await control.request("POST", "/api/v1/tenants", body);
    expect({ status: made.status, body: await made.json() }).toMatchObject({
      status: 200,
      body: { ...body, guardrails_policy: { ...body.guardrails_policy, fail_open: true, ban_keywords: [] } },
    });
  });
});
