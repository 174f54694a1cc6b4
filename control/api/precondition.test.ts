/**
 * A write with `If-Match` is done on the record that the client has read, or not at all (docs/rules/management-api.md#lost-updates).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { readDocument } from "../../test/harness/api-document.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { type Send, targetOf } from "../../test/harness/route-targets.ts";
import { type AppDeps, createApp } from "../app.ts";
import { buildDocument } from "./document.ts";

const document = readDocument(JSON.stringify(buildDocument(createApp({ adminToken: "" } as unknown as AppDeps), "")));
let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

type Fields = Readonly<Record<string, unknown>>;

const send: Send = async (method, path, body, headers = {}) =>
  await control.request(method.toUpperCase(), path, body, { ...headers });

/** People make themselves, by signing in: control/dashboard/users.test.ts. */
const ELSEWHERE = ["/api/v1/users/{id}"];
/** What the gateway observes gives a record no other revision. */
const REPORTS = ["/api/v1/models/{id}/managed/provision-error"];

/** Fields that an example of a body cannot change. */
const OWN_NAMES = ["name", "model_name", "job_id", "endpoint_id"];

const offering = document.operations.filter(({ parameters }) => parameters.some(({ name }) => name === "if-match"));
const guarded = offering.filter(({ path }) => !ELSEWHERE.includes(path));

/** The record that a path names, as it is now. */
async function recordAt(path: string): Promise<{ readonly path: string; readonly record: Fields }> {
  const { path: target, record } = await targetOf(send, path);
  const known = record ?? ((await (await send("get", target)).json()) as Fields);
  return { path: target, record: known };
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const { components, paths } = JSON.parse(document.text) as {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>;
};
type Responses = Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>>;

const resolved = ({ $ref, ...schema }: Schema): Schema =>
  $ref === undefined ? schema : (components.schemas[$ref.slice($ref.lastIndexOf("/") + 1)] ?? {});
const hasRevision = (schema: Schema): boolean => resolved(schema).properties?.["rev"] !== undefined;

/** The records with a revision in the answers of a path's routes, or of one of them; a part of an answer is one, too. */
const recordsOf = (path: string, only?: string): readonly string[] =>
  Object.entries(paths[path] ?? {}).flatMap(([method, { responses }]) => {
    const schema = responses["200"]?.content?.["application/json"]?.schema;
    if (schema === undefined || (only !== undefined && method !== only)) return [];
    return [schema, ...Object.values(resolved(schema).properties ?? {})]
      .filter(hasRevision)
      .map((one) => JSON.stringify(one));
  });

const ancestorsOf = (path: string): readonly string[] =>
  path.split("/").map((_, at, parts) => parts.slice(0, at).join("/"));

/** It answers with the record, and checks what that refers to. */
const CHECK = "/api/v1/models/{id}/health/check";

/** True of a route that changes or deletes one record with a revision. A POST does if its path is below that of the record. */
function isChangeOfRecord({ method, path }: { readonly method: string; readonly path: string }): boolean {
  if (method === "get" || path === CHECK) return false;
  if (method === "delete") return recordsOf(path).length > 0;
  if (method !== "post") return recordsOf(path, method).length > 0;
  const above = ancestorsOf(path).flatMap((one) => recordsOf(one));
  return recordsOf(path, method).some((one) => above.includes(one));
}

it("is offered by every change and deletion of a record that has a revision, and nowhere else", () => {
  const named = (operations: readonly { readonly method: string; readonly path: string }[]) =>
    operations.map(({ method, path }) => `${method} ${path}`).toSorted();
  expect(named(offering)).toEqual(named(document.operations.filter(isChangeOfRecord)));
  expect(named(offering)).toContain("post /api/v1/keys/{id}/rotate");
  expect(offering.filter(({ responses }) => !("412" in responses))).toEqual([]);
});

describe.each(guarded.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
  "%s",
  (_, { method, path, requestBody }) => {
    it("is refused for another revision, with the record as it is, and done for the present one", async () => {
      const target = await recordAt(path);
      const { record } = target;
      const rev = Number(record["rev"]);
      const example = requestBody?.content["application/json"]?.example as Fields | undefined;
      const body =
        example === undefined
          ? undefined
          : Object.fromEntries(
              Object.entries(example).map(([name, value]) => [name, OWN_NAMES.includes(name) ? record[name] : value]),
            );
      const stale = await send(method, target.path, body, { "if-match": `"${rev + 1}"` });
      expect({ status: stale.status, body: await stale.json() }).toMatchObject({
        status: 412,
        body: { error: { code: "changed_meanwhile", type: "conflict_error", present: { rev } } },
      });
      const done = await send(method, target.path, body, { "if-match": `"${rev}"` });
      expect({ status: done.status, text: await done.clone().text() }).toMatchObject({
        status: method === "delete" ? 204 : 200,
      });
      if (method === "delete") return;
      const answer = (await done.json()) as { rev?: number; key?: { rev: number } };
      const after = Number(answer.rev ?? answer.key?.rev);
      expect({ isNewer: after > rev, etag: done.headers.get("etag") }).toEqual({
        isNewer: !REPORTS.includes(path),
        etag: answer.rev === undefined ? null : `"${after}"`,
      });
    });
  },
);

describe("two admins who change a tenant", () => {
  const make = async (): Promise<Tenant> => (await targetOf(send, "/api/v1/tenants/{id}")).record as unknown as Tenant;
  const read = async (id: string): Promise<Response> => await control.request("GET", `/api/v1/tenants/${id}`);

  it("keep each other's limits when both send only what they change", async () => {
    const { id } = await make();
    await control.request("PATCH", `/api/v1/tenants/${id}`, { tokens_per_minute: 600 });
    await control.request("PATCH", `/api/v1/tenants/${id}`, { max_in_flight: 4 });
    expect(await (await read(id)).json()).toMatchObject({ tokens_per_minute: 600, max_in_flight: 4 });
  });

  it("do not overwrite what they have not seen", async () => {
    const { id } = await make();
    const first = await read(id);
    const etag = first.headers.get("etag") ?? "";
    const before = (await first.json()) as Tenant;
    expect(etag).toBe(`"${before.rev}"`);
    await control.request("PUT", `/api/v1/tenants/${id}/quota`, { tokens_per_minute: 600 });
    const path = `/api/v1/tenants/${id}/quota`;
    const lost = await control.request("PUT", path, { tokens_per_minute: 0, max_in_flight: 4 }, { "if-match": etag });
    const { error } = (await lost.json()) as { error: { present: Tenant } };
    expect({ status: lost.status, seen: error.present.tokens_per_minute }).toEqual({ status: 412, seen: 600 });
    expect(await (await read(id)).json()).toEqual(error.present);
    const whole = await control.request("PATCH", `/api/v1/tenants/${id}`, { ...before, weight: 7 });
    expect(whole.status).toBe(412);
    const again = await control.request("PATCH", `/api/v1/tenants/${id}`, { ...error.present, weight: 7 });
    expect({ status: again.status, body: await again.json() }).toMatchObject({ status: 200, body: { weight: 7 } });
  });

  it.each(["5", 5.5, null, 1e300, [5]])("get 400 for a rev in the body that is not a revision: %j", async (rev) => {
    const { id } = await make();
    const answer = await control.request("PATCH", `/api/v1/tenants/${id}`, { weight: 7, rev });
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: "rev" } },
    });
  });

  it.each([
    ["*", 200],
    ['"1", "REV"', 200],
    ["REV", 200],
    ['W/"REV"', 412],
    ['"1"', 412],
    ['"of another kind"', 400],
    ["", 400],
  ])("are answered If-Match: %s with %i", async (header, status) => {
    const { id, rev } = await make();
    const headers = { "if-match": header.replace("REV", String(rev)) };
    const response = await control.request("PATCH", `/api/v1/tenants/${id}`, { weight: 7 }, headers);
    expect({ header, status: response.status }).toEqual({ header, status });
  });

  it("get the etag of a tenant with an idempotency key, too", async () => {
    const key = { "idempotency-key": "etag" };
    const create = async () => await control.request("POST", "/api/v1/tenants", { name: "etag" }, key);
    const [first, again] = [await create(), await create()];
    const { rev } = (await first.json()) as Tenant;
    expect([first, again].map(({ headers }) => headers.get("etag"))).toEqual([`"${rev}"`, `"${rev}"`]);
  });

  it("are refused an If-Match on what has no revision", async () => {
    const response = await control.request("POST", "/api/v1/tenants", { name: "if-match" }, { "if-match": '"1"' });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param: "if-match" } },
    });
  });
});

it("lets only one of two admins set the capacity that both have read", async () => {
  const path = "/api/v1/capacity";
  const etag = (await control.request("GET", path)).headers.get("etag") ?? "";
  const answers = await Promise.all(
    [5, 6].map(async (max_in_flight) => await send("put", path, { max_in_flight }, { "if-match": etag })),
  );
  const [done, refused] = answers.toSorted((a, b) => a.status - b.status);
  expect({ done: done?.status, refused: refused?.status }).toEqual({ done: 200, refused: 412 });
  const set = await done?.json();
  expect(await refused?.json()).toMatchObject({ error: { present: set as Fields } });
  expect(await (await control.request("GET", path)).json()).toEqual(set);
});

it("gives a capacity another revision when the cell has taken it and its answer is lost", async () => {
  const path = "/api/v1/capacity";
  const read = await control.request("GET", path);
  const before = (await read.json()) as { max_in_flight: number };
  control.cell.losesCapacityAnswers = true;
  const lost = await send("put", path, { max_in_flight: before.max_in_flight + 1 });
  control.cell.losesCapacityAnswers = false;
  const stale = await send("put", path, { max_in_flight: 9 }, { "if-match": read.headers.get("etag") ?? "" });
  expect({ lost: lost.status, stale: stale.status, body: await stale.json() }).toMatchObject({
    lost: 502,
    stale: 412,
    body: { error: { present: { max_in_flight: before.max_in_flight + 1 } } },
  });
});

describe("two admins who create one spec", () => {
  const body = { partition: "gpu", serving_port: 8000, launch_command: "serve" };
  const make = async (): Promise<string> => {
    const { record } = await targetOf(send, "/api/v1/models/{id}");
    return `/api/v1/models/${String(record?.["id"])}/managed`;
  };
  const put = async (path: string, headers: Readonly<Record<string, string>>, partition = "gpu"): Promise<Response> =>
    await send("put", path, { ...body, partition }, headers);

  it("cannot both do so with If-None-Match", async () => {
    const path = await make();
    const answers = await Promise.all(
      ["first", "second"].map(async (name) => await put(path, { "if-none-match": "*" }, name)),
    );
    const done = answers.find(({ status }) => status === 200);
    const refused = answers.find(({ status }) => status === 412);
    const made = (await done?.json()) as Fields;
    expect(await refused?.json()).toMatchObject({ error: { code: "changed_meanwhile", present: made } });
    expect(await (await control.request("GET", path)).json()).toEqual(made);
  });

  it("do not create with If-Match what is gone", async () => {
    const path = await make();
    expect((await put(path, { "if-match": "*" })).status).toBe(412);
    const refused = await put(path, { "if-match": '"1"' });
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 412,
      body: { error: { code: "changed_meanwhile", present: {} } },
    });
    expect((await control.request("GET", path)).status).toBe(404);
  });

  it.each([
    ["put", "/models/{id}/managed", '"1"'],
    ["patch", "/models/{id}/managed", "*"],
    ["put", "/models/{id}/capacity", "*"],
  ])("are refused %s %s with If-None-Match: %s", async (method, path, header) => {
    const { path: target } = await targetOf(send, `/api/v1${path}`);
    const response = await send(method, target, {}, { "if-none-match": header });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param: "if-none-match" } },
    });
  });
});

describe("what a replica leads to", () => {
  it("gives a replica another revision when another one takes their endpoint with it", async () => {
    const { record: model } = await targetOf(send, "/api/v1/models/{id}");
    const base = `/models/${String(model?.["id"])}`;
    const endpoint_id = (
      await control.must<Fields>("POST", `${base}/endpoints`, { name: "e", api_base: "http://127.0.0.1:9" })
    )["id"];
    const make = async (job_id: string): Promise<Fields> => {
      const { id } = await control.must<Fields>("POST", `${base}/replicas`, { job_id });
      return await control.must<Fields>("PATCH", `/replicas/${String(id)}`, { endpoint_id });
    };
    const [kept, removed] = [await make("kept"), await make("removed")];
    await control.must("DELETE", `/replicas/${String(removed["id"])}`);
    const rows = await control.must<readonly Fields[]>("GET", "/replicas?limit=1000");
    const after = rows.find((row) => row["id"] === kept["id"]);
    expect({ endpoint: after?.["endpoint_id"], isNewer: Number(after?.["rev"]) > Number(kept["rev"]) }).toEqual({
      endpoint: null,
      isNewer: true,
    });
  });

  it("gives the replica another revision when it is removed", async () => {
    const { record: model } = await targetOf(send, "/api/v1/models/{id}");
    const base = `/models/${String(model?.["id"])}`;
    const { id } = await control.must<Fields>("POST", `${base}/endpoints`, {
      name: "e",
      api_base: "http://127.0.0.1:9",
    });
    const made = await control.must<Fields>("POST", `${base}/replicas`, { job_id: "1" });
    const path = `/replicas/${String(made["id"])}`;
    const led = await control.must<Fields>("PATCH", path, { endpoint_id: id });
    const now = async (): Promise<Fields> => {
      const rows = await control.must<readonly Fields[]>("GET", "/replicas?limit=1000");
      return rows.find((row) => row["id"] === made["id"]) ?? {};
    };
    await control.must("DELETE", `${base}/endpoints/${String(id)}`);
    const alone = await now();
    await control.must("DELETE", base);
    const orphan = await now();
    expect({ alone, orphan }).toMatchObject({ alone: { endpoint_id: null }, orphan: { model_id: null } });
    const revs = [made, led, alone, orphan].map(({ rev }) => Number(rev));
    expect(revs).toEqual([...new Set(revs)].toSorted((a, b) => a - b));
  });
});

describe("two admins who change a setting", () => {
  const path = "/api/v1/settings/assistant";
  const read = async (): Promise<Fields> => (await (await control.request("GET", path)).json()) as Fields;

  it("keep each other's change when both send only what they change", async () => {
    await control.request("PUT", path, { bench_max_concurrency: 7 });
    await control.request("PUT", path, { bench_max_duration_s: 9 });
    expect(await read()).toMatchObject({ bench_max_concurrency: 7, bench_max_duration_s: 9 });
  });

  it("show the change that they would have overwritten", async () => {
    const before = await read();
    await control.request("PUT", path, { tools_enabled: { get_models: false } });
    const lost = await control.request("PUT", path, { ...before, tools_enabled: { get_keys: false } });
    const { error } = (await lost.json()) as { error: { present: Fields } };
    expect({ status: lost.status, seen: error.present["tools_enabled"] }).toEqual({
      status: 412,
      seen: { get_models: false },
    });
    expect(await read()).toEqual(error.present);
  });

  it("of whom both have read the same cannot both write at once", async () => {
    const etag = (await control.request("GET", path)).headers.get("etag") ?? "";
    const change = async (bench_max_requests: number): Promise<number> =>
      (await control.request("PUT", path, { bench_max_requests }, { "if-match": etag })).status;
    const statuses = await Promise.all([change(11), change(12)]);
    const count = (wanted: number): number => statuses.filter((status) => status === wanted).length;
    expect({ done: count(200), refused: count(412) }).toEqual({ done: 1, refused: 1 });
  });
});
