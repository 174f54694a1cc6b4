/**
 * What browsers may call of the Management API, against the API's own document (docs/rules/console.md#live).
 *
 * @module-tag check
 */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { MODEL_FIELDS_OF_USERS } from "../../shared/fields/model-fields.ts";
import { isForOperators } from "../../shared/fields/operator-fields.ts";
import type { ApiKey, CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";
import { ledgerRow, TestLedger } from "../../test/harness/ledger.ts";
import { managementLiveRoutes } from "../app.ts";
import { models } from "../db/schema/models.ts";
import { type LiveRoute, liveRoutesOf } from "./access.ts";
import { buildDocument } from "./document.ts";
import { userCredential } from "./guard.ts";

/** Routes that no browser reaches, and why. */
const FOR_THE_TOKEN: Readonly<Record<string, string>> = {
  "GET /settings/jobsched/resolved": "it answers the scheduler's token in clear text",
  "PATCH /models/{id}/managed/provision-error": "the provisioner reports by it",
  "PATCH /replicas/{id}": "the provisioner reports by it",
  "POST /models/{id}/replicas": "jobs are submitted by the provisioner, and others' come from scripts",
  "POST /assistant/key": "the console's server makes the key of its assistant itself",
  "POST /tenants/{id}/console-key": "the console's server makes the keys of its playground itself",
  "GET /health": "the console's server asks it itself",
  "GET /openapi.json": "it is a document for programs",
};

/** The routes that a `user` may call, and how they are bound to the user's tenant. */
const OF_USERS: Readonly<Record<string, string>> = {
  "GET /tenants/{id}": "tenant in path",
  "GET /tenants/{id}/budget/usage": "tenant in path",
  "GET /tenants/{id}/load": "tenant in path",
  "GET /tenants/{id}/keys": "tenant in path",
  "POST /tenants/{id}/keys": "tenant in path",
  "GET /keys/{id}": "key in path",
  "PUT /keys/{id}": "key in path",
  "POST /keys/{id}/rotate": "key in path",
  "PUT /keys/{id}/disabled": "key in path",
  "DELETE /keys/{id}": "key in path",
  "GET /batches": "tenant in query",
  "GET /batches/{id}": "tenant in answer",
  "GET /keys/{id}/budget/usage": "key in path",
  "GET /keys/{id}/usage": "key in path",
  "GET /keys": "tenant in query",
  "GET /models": "list of its own",
  "GET /usage": "tenant in query",
  "GET /usage/keys": "tenant in query",
  "GET /usage/keys/summary": "tenant in query",
  "GET /usage/models": "tenant in query",
  "GET /usage/daily": "tenant in query",
  "GET /usage/health": "tenant in query",
  "GET /usage/series": "tenant in query",
  "GET /usage/series/models": "tenant in query",
  "GET /usage/breakdown": "tenant in query",
  "GET /usage/cache": "tenant in query",
  "GET /usage/logs": "tenant in query",
  "GET /usage/logs/totals": "tenant in query",
  "GET /usage/logs/facets": "tenant in query",
  "GET /usage/logs/{request_id}": "tenant in answer",
  "GET /costs": "tenant in query",
  "GET /costs/daily": "tenant in query",
  "GET /costs/months": "tenant in query",
};

/** What of their answers a user does not see. */
const HIDDEN: Readonly<Record<string, readonly string[]>> = {
  "GET /tenants/{id}": [
    "description",
    "fairshare_group",
    "guardrails_policy.guard_model",
    "synthetic",
    "tracing_enabled",
    "weight",
  ],
  "GET /keys/{id}/usage": ["energy_cost_usd"],
  "GET /usage/keys/summary": ["energy_cost_usd"],
  "GET /usage/daily": ["endpoint", "energy_cost_usd"],
  "GET /usage/health": ["endpoint"],
  "GET /usage/breakdown": ["energy_cost_usd", "fairshare_group"],
  "GET /costs": ["energy_cost_usd"],
  "GET /costs/daily": ["endpoint"],
  "GET /costs/months": ["groups.endpoint"],
};

const nameOf = ({ method, path }: LiveRoute): string => `${method} ${path}`;
const recordOf = (answer: z.ZodType | undefined): z.ZodType | undefined =>
  answer instanceof z.ZodArray ? (answer.element as z.ZodType) : answer;

/** The paths of the fields that only operators see. */
function hiddenIn(schema: z.ZodType | undefined, path = ""): readonly string[] {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return hiddenIn(schema.unwrap() as z.ZodType, path);
  if (schema instanceof z.ZodArray) return hiddenIn(schema.element as z.ZodType, path);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) =>
    isForOperators(field) ? [`${path}${name}`] : hiddenIn(field, `${path}${name}.`),
  );
}

const ledger = new TestLedger();
ledger.use();
/** What the clock says, in epoch milliseconds; null: it runs. */
let stoppedAtMs: number | null = null;
let control: TestControl;
let routes: readonly LiveRoute[];
let ofUsers: readonly LiveRoute[];

beforeAll(async () => {
  control = await startControl({ analytics: ledger.store, now: () => new Date(stoppedAtMs ?? Date.now()) });
  routes = liveRoutesOf(control.app);
  ofUsers = routes.filter(({ user }) => user !== undefined);
});
afterAll(async () => {
  await control.close();
});

describe("what browsers may call", () => {
  it("is every route of the document, each once, but those for the token", () => {
    const document = buildDocument(control.app, "0") as { paths: Record<string, Record<string, unknown>> };
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace("/api/v1", "")}`),
    );
    expect([...routes.map(nameOf), ...Object.keys(FOR_THE_TOKEN)].toSorted()).toEqual(documented.toSorted());
  });

  it("is for admins, unless it is listed here for users", () => {
    const bound = ofUsers.map((route) => [
      nameOf(route),
      typeof route.user === "function" ? "list of its own" : route.user,
    ]);
    expect(Object.fromEntries(bound)).toEqual(OF_USERS);
    expect(bound).toHaveLength(Object.keys(OF_USERS).length);
  });

  it("is for the person whom it is about too, of these", () => {
    expect(routes.filter(({ isOwn }) => isOwn).map(nameOf)).toEqual([
      "GET /users/{id}/sessions",
      "DELETE /users/{id}/sessions",
      "DELETE /users/{id}/sessions/{session_id}",
    ]);
  });

  it("is the same before a Management API in another process", () => {
    expect(managementLiveRoutes().map(nameOf)).toEqual(routes.map(nameOf));
  });
});

describe("what a user sees of answers", () => {
  it("leaves out what is listed here", () => {
    const hidden = ofUsers
      .filter(({ fields }) => fields === undefined)
      .map((route) => [nameOf(route), hiddenIn(route.answer).toSorted()] as const)
      .filter(([, names]) => names.length > 0);
    expect(Object.fromEntries(hidden)).toEqual(HIDDEN);
  });

  it("names only fields that records have", () => {
    const named = ofUsers.filter(({ fields }) => fields !== undefined);
    expect(named.map(nameOf)).toEqual(["GET /models", "GET /usage/logs", "GET /usage/logs/{request_id}"]);
    for (const { answer, fields } of named) {
      const record = recordOf(answer) as z.ZodObject;
      expect(Object.keys(record.shape)).toEqual(expect.arrayContaining([...(fields ?? [])]));
    }
  });

  it("has nothing of what the operator pays, in whatever answer", () => {
    const whole = (schema: z.ZodType | undefined): string =>
      schema === undefined ? "" : JSON.stringify(z.toJSONSchema(schema, { unrepresentable: "any" }));
    const having = ofUsers.filter(({ answer }) => whole(answer).includes('"energy_cost_usd"'));
    expect(having.length).toBeGreaterThan(4);
    for (const { path, answer, fields } of having)
      expect({
        path,
        hidesCost: fields?.includes("energy_cost_usd") === false || hiddenIn(answer).includes("energy_cost_usd"),
      }).toEqual({ path, hidesCost: true });
  });

  it("is all of what a user writes: a refused write answers with the whole record", () => {
    for (const { method, path, answer, fields } of ofUsers.filter((route) => route.method !== "GET"))
      expect({ method, path, fields, hidden: hiddenIn(answer) }).toEqual({ method, path, hidden: [] });
  });
});

describe("the credential of a user", () => {
  let own: { tenant: Tenant; key: ApiKey };
  let other: { tenant: Tenant; key: ApiKey };
  const made = async (name: string) => {
    const tenant = await control.must<Tenant>("POST", "/tenants", { name, allowed_models: [`model-${name}`] });
    await makeModel(`model-${name}`);
    return { tenant, key: (await control.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, {})).key };
  };
  const makeModel = async (model_name: string) =>
    await control.must("POST", "/models", {
      model_name,
      model_type: "chat",
      upstream_model: "u",
      api_base: "http://u",
    });
  const allow = async (allowed_models: readonly string[]) =>
    await control.must("PATCH", `/tenants/${own.tenant.id}`, { allowed_models });
  const send = async (method: string, path: string, token = ADMIN_TOKEN, headers = {}, body: object = {}) =>
    await control.app.request(`/api/v1${path}`, {
      method,
      headers: { authorization: userCredential(own.tenant.id, token), ...headers },
      ...(method === "GET" ? {} : { body: JSON.stringify(body) }),
    });
  const linesOf = async (answer: Response): Promise<readonly string[][]> =>
    (await answer.text())
      .trimEnd()
      .split("\r\n")
      .map((line) => line.split(","));

  beforeAll(async () => {
    own = await made("own");
    other = await made("other");
  });
  afterEach(() => {
    stoppedAtMs = null;
  });

  it.each([true, 1, "on"])("makes no key with tracing_enabled %j, which only admins set", async (tracing_enabled) => {
    const keys = `/tenants/${own.tenant.id}/keys`;
    const refused = await send("POST", keys, ADMIN_TOKEN, {}, { tracing_enabled });
    const message = "is set by admins only: leave it out or send false";
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", details: [{ path: "tracing_enabled", message }] } },
    });
    expect(await control.must<ApiKey[]>("GET", keys)).toHaveLength(1);
  });

  it("reaches nothing of admins and nothing of another tenant, and changes nothing there", async () => {
    for (const { method, path, user } of routes.filter((route) => route.path !== "/version")) {
      const id = user === "key in path" ? other.key.id : other.tenant.id;
      const answer = await send(method, path.replace(/\{\w+\}/g, id));
      const text = await answer.text();
      expect(`${path} ${text}`).not.toContain(other.tenant.id);
      if (typeof user !== "function" && user !== "tenant in query" && user !== "tenant in answer")
        expect({ method, path, status: answer.status }).toEqual({ method, path, status: 404 });
    }
    for (const name of Object.keys(FOR_THE_TOKEN).filter((one) => !/ \/(health|openapi.json)$/.test(one))) {
      const [method = "", path = ""] = name.split(" ");
      expect({ name, status: (await send(method, path.replace(/\{\w+\}/g, own.tenant.id))).status }).toEqual({
        name,
        status: 404,
      });
    }
    expect(await control.must("GET", `/tenants/${other.tenant.id}/keys`)).toMatchObject([
      { id: other.key.id, disabled: false },
    ]);
  });

  it("binds pages and their links to the tenant, whatever the query says", async () => {
    await control.must("POST", `/tenants/${own.tenant.id}/keys`, { name: "second" });
    const first = await send("GET", `/keys?tenant_id=${other.tenant.id}&limit=1&cell=c`);
    const link = /^<\/api\/v1(.*)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    expect(link).toMatch(new RegExp(`^/keys\\?tenant_id=${own.tenant.id}&limit=1&cursor=[\\w%-]+$`));
    const keys = [await first.json(), await (await send("GET", link)).json()].flat() as ApiKey[];
    expect(keys.map(({ tenant_id }) => tenant_id)).toEqual([own.tenant.id, own.tenant.id]);
  });

  it("gets every model of the tenant at once, as JSON and as CSV", async () => {
    const names = Array.from({ length: 1001 }, (_, nth) => `many-${nth}`);
    const { db } = control.connection;
    const [row] = await db.select().from(models).limit(1);
    await db
      .insert(models)
      .values(names.map((name) => ({ ...row, id: randomUUID(), model_name: name }) as typeof models.$inferInsert));
    await allow(["model-own", ...names]);
    stoppedAtMs = Date.now() + 10_000;
    expect(await (await send("GET", "/models?cursor=x&cursor=y")).json()).toHaveLength(1002);
    const [head, ...lines] = await linesOf(await send("GET", "/models?format=csv"));
    expect(head).toEqual(MODEL_FIELDS_OF_USERS);
    expect(lines).toHaveLength(1002);
    await allow(["model-own"]);
  });

  it("reads the models once a second for the users of all tenants, whatever one of them accepts", async () => {
    const namesFor = async (authorization: string, accept: string) => {
      const answer = await control.app.request("/api/v1/models", { headers: { authorization, accept } });
      return ((await answer.json()) as { model_name: string }[]).map(({ model_name }) => model_name);
    };
    const both = async () => {
      const [ofOwn, ofOther] = await Promise.all([
        namesFor(userCredential(own.tenant.id, ADMIN_TOKEN), "text/csv"),
        namesFor(userCredential(other.tenant.id, ADMIN_TOKEN), "application/json"),
      ]);
      return { ofOwn, ofOther };
    };
    await allow(["model-own", "model-late"]);
    stoppedAtMs = Date.now() + 20_000;
    expect(await both()).toEqual({ ofOwn: ["model-own"], ofOther: ["model-other"] });
    await makeModel("model-late");
    expect(await both()).toEqual({ ofOwn: ["model-own"], ofOther: ["model-other"] });
    stoppedAtMs += 1000;
    expect(await both()).toEqual({ ofOwn: ["model-late", "model-own"], ofOther: ["model-other"] });
  });

  it("gets the tenant's requests without where they ran and what they cost the operator", async () => {
    const [ownId, otherId] = [randomUUID(), randomUUID()];
    const row = { cell: "the cell", endpoint: "a, b", cost_usd: 3, energy_cost_usd: 7, co2_g: 5 };
    await ledger.insert([
      ledgerRow(Date.now() - 1000, { ...row, request_id: ownId, tenant_id: own.tenant.id, key_id: own.key.id }),
      ledgerRow(Date.now() - 1000, { ...row, request_id: otherId, tenant_id: other.tenant.id, key_id: other.key.id }),
    ]);
    const { fields = [] } = ofUsers.find(({ path }) => path === "/usage/logs") ?? {};
    const [all = []] = await linesOf(await control.request("GET", "/api/v1/usage/logs?format=csv"));
    const logs = await linesOf(await send("GET", "/usage/logs?format=csv"));
    expect({ columns: logs[0], ids: logs.slice(1).map(([id]) => id) }).toEqual({
      columns: all.filter((name) => fields.includes(name)),
      ids: [ownId],
    });
    const [allDaily = []] = await linesOf(await control.request("GET", "/api/v1/usage/daily?format=csv"));
    const daily = await linesOf(await send("GET", "/usage/daily?format=csv"));
    expect({ columns: daily[0], rowCount: daily.length - 1 }).toEqual({
      columns: allDaily.filter((name) => name !== "energy_cost_usd" && name !== "endpoint"),
      rowCount: 1,
    });
    for (const path of ["/usage/daily", "/costs/daily", "/costs/months", "/usage/health"]) {
      const refused = await send("GET", `${path}?group_by=endpoint`);
      expect({ path, status: refused.status, text: await refused.text() }).toMatchObject({
        path,
        status: 400,
        text: expect.stringContaining("endpoint is for admins"),
      });
    }
    for (const path of ["/usage/logs", "/usage/logs?cell=x", `/usage/logs/${ownId}`]) {
      const [shown = {}, ...others] = [await (await send("GET", path)).json()].flat() as object[];
      expect({ path, names: Object.keys(shown).toSorted(), others }).toEqual({
        path,
        names: fields.toSorted(),
        others: [],
      });
    }
    for (const path of ["/usage/breakdown", "/usage/keys/summary", `/keys/${own.key.id}/usage`, "/costs"]) {
      const text = await (await send("GET", path)).text();
      expect({ path, hasCo2: text.includes('"co2_g":5'), isNarrow: !/energy_cost|fairshare/.test(text) }).toEqual({
        path,
        hasCo2: true,
        isNarrow: true,
      });
    }
    expect((await send("GET", `/usage/logs/${otherId}`)).status).toBe(404);
    expect((await control.request("GET", `/api/v1/usage/logs/${otherId}`)).status).toBe(200);
  });

  it("needs the token", async () => {
    for (const token of ["", "other", `x ${ADMIN_TOKEN}`])
      expect({ token, status: (await send("GET", `/tenants/${own.tenant.id}`, token)).status }).toEqual({
        token,
        status: 401,
      });
    expect((await send("GET", `/tenants/${own.tenant.id}`)).status).toBe(200);
  });
});
