/**
 * What of a file a restore refuses, because the Management API would refuse it too (docs/rules/backup.md#file).
 *
 * @module-tag long
 */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ErrorBody } from "../../shared/errors.ts";
import type { Backup, BackupEntity } from "../../shared/schema/backup.ts";
import { identityKeyHash } from "../../shared/schema/identity.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { fillConfiguration } from "../../test/harness/full-configuration.ts";

let control: TestControl;
let file: Backup;

beforeAll(async () => {
  control = await startControl();
  await fillConfiguration(control);
});
afterAll(async () => await control.close());
beforeEach(async () => {
  file = await exported();
});

const exported = async () => (await (await control.request("GET", "/api/v1/backup/export")).json()) as Backup;
const dataOf = async () => JSON.stringify((await exported()).data);

/** Restores; the status, and the code, message and details of a refusal. */
async function restored(input: unknown) {
  const response = await control.request("POST", "/api/v1/backup/restore", input);
  const { error } = (await response.json()) as Partial<ErrorBody>;
  return { status: response.status, code: error?.code, message: error?.message, details: error?.details };
}

/** The file with other fields in the first row of an entity. */
const changed = (entity: BackupEntity, fields: object): object => {
  const [first, ...rest] = file.data[entity] as readonly object[];
  return { ...file, data: { ...file.data, [entity]: [{ ...first, ...fields }, ...rest] } };
};

const LINE = "must not contain control characters, line breaks or invisible characters";
const KEY_NAME = "must be one line of visible characters in Unicode normalization form C";
const REVERSED = "abc\u202Edef";

describe("a row that the API could not have written", () => {
  it.each<[BackupEntity, object, field: string, message: string]>([
    ["tenants", { name: "evil\nInjected" }, "name", LINE],
    ["tenants", { name: REVERSED }, "name", LINE],
    ["fairshare_groups", { name: REVERSED }, "name", LINE],
    ["models", { model_name: REVERSED }, "model_name", LINE],
    ["model_endpoints", { name: "a\u0085b" }, "name", LINE],
    ["api_keys", { name: REVERSED }, "name", KEY_NAME],
    ["api_keys", { name: "e\u0301" }, "name", KEY_NAME],
    ["api_keys", { key_hash: "zz" }, "key_hash", "must be 64 hex digits, for a token's subject with jwt: before them"],
    ["api_keys", { key_prefix: "sk_\n" }, "key_prefix", "must be the first 18 characters of a key"],
    ["api_keys", { key_pepper: "x" }, "key_pepper", "must be null or 8 hex digits"],
    ["api_keys", { disabled: false, disabled_by: "admin" }, "disabled_by", "must be null while disabled is false"],
    [
      "api_keys",
      { admin_limits: { budget_tokens: null } },
      "admin_limits.budget_tokens",
      "must be a whole number of at least 0",
    ],
    ["app_settings", { key: "alert" }, "key", "is not the name of a setting; did you mean 'alerts'?"],
  ])("of %s with %j is refused by its place", async (entity, fields, field, message) => {
    const before = await dataOf();
    const answer = await restored(changed(entity, fields));
    expect(answer).toMatchObject({
      status: 400,
      code: "validation_failed",
      details: [{ path: `data.${entity}.0.${field}`, message }],
    });
    expect(await dataOf()).toBe(before);
  });
});

it.each([
  ["the model itself", ["x"], "must not contain the model itself"],
  ["one that falls back to it", ["y"], "leads back to the model: 'y' falls back to it"],
])("fallbacks that lead back over %s are refused by their row", async (_, fallback_models, message) => {
  await control.request("POST", "/api/v1/models", { model_name: "y", fallback_models: ["x"] });
  const before = await dataOf();
  const data = { ...file.data, models: file.data.models.filter((model) => model.model_name !== "y") };
  const [first, ...rest] = data.models;
  const models = [...rest, { ...first, model_name: "x", fallback_models }];
  expect(await restored({ ...file, data: { ...data, models } })).toMatchObject({
    status: 400,
    code: "validation_failed",
    details: [{ path: `data.models.${rest.length}.fallback_models`, message }],
  });
  expect(await dataOf()).toBe(before);
});

describe("a replaced secret that is the secret of a key", () => {
  const MESSAGE = "is the hash of another secret";
  const until = "2099-01-01T00:00:00.000Z";
  const keysWith = (previous_key_hash: string | undefined) => {
    const [first, ...rest] = file.data.api_keys;
    return [{ ...first, previous_key_hash, previous_key_pepper: null, previous_secret_until: until }, ...rest];
  };

  it.each(["of the same file", "of a key that is here"])("is refused: %s", async (whose) => {
    const before = await dataOf();
    const keys = keysWith(file.data.api_keys[1]?.key_hash);
    const api_keys = whose === "of the same file" ? keys : keys.slice(0, 1);
    expect(await restored({ ...file, data: { api_keys } })).toMatchObject({
      status: 400,
      details: [{ path: "data.api_keys.0.previous_key_hash", message: MESSAGE }],
    });
    expect(await dataOf()).toBe(before);
  });

  it("is refused where the file has the key", async () => {
    const hash = "ab".repeat(32);
    await restored({ ...file, data: { api_keys: keysWith(hash) } });
    const before = await dataOf();
    const second = { ...file.data.api_keys[1], key_hash: hash, previous_key_hash: null };
    expect(await restored({ ...file, data: { api_keys: [second] } })).toMatchObject({
      status: 400,
      details: [{ path: "data.api_keys.0.key_hash", message: MESSAGE }],
    });
    expect(await dataOf()).toBe(before);
    await restored(file);
  });
});

it("a key that belongs here to another tenant is refused, and stays with its own", async () => {
  const created = await control.request("POST", "/api/v1/tenants", { name: "other-owner" });
  const { id } = (await created.json()) as { readonly id: string };
  const before = await dataOf();
  expect(await restored(changed("api_keys", { tenant_id: id }))).toMatchObject({
    status: 400,
    details: [{ path: "data.api_keys.0.tenant_id", message: "belongs here to another tenant, and a key never moves" }],
  });
  expect(await dataOf()).toBe(before);
});

describe("a name that is no field", () => {
  it.each<[place: string, name: string, nearest: string | null, () => object]>([
    ["data.tenants.0.budget_token", "a row", "budget_tokens", () => changed("tenants", { budget_token: 5 })],
    ["data.tenant", "the tables", "tenants", () => ({ ...file, data: { tenant: file.data.tenants } })],
    ["macs", "the file", "mac", () => ({ ...file, macs: [] })],
    ["data.api_keys.0.admin_limits.x", "limits", null, () => changed("api_keys", { admin_limits: { x: 1 } })],
    [
      "data.app_settings.0.value.min_interval_sec",
      "a setting",
      "min_interval_secs",
      () => changed("app_settings", { key: "alerts", value: { min_interval_sec: 5 } }),
    ],
  ])("%s of %s is refused, and the nearest one named", async (place, _, nearest, made) => {
    const before = await dataOf();
    const answer = await restored(made());
    expect(answer).toMatchObject({ status: 400, code: "unknown_field", details: [{ path: place }] });
    if (nearest !== null) expect(answer.message).toBe(`unknown field '${place}'; did you mean '${nearest}'?`);
    expect(await dataOf()).toBe(before);
  });
});

it.each<[string, unknown, string]>([
  ["data", undefined, "must be an object"],
  ["data", [], "must be an object"],
  ["encryption", "x", "must be an object"],
  ["encryption.key_check", 5, "must be a string"],
  ["data.tenants.0", 7, "must be an object"],
  ["data.api_keys.0.allowed_models", "x", "must be null or an array of model names"],
  ["data.app_settings.0.value.min_interval_secs", "x", "must be a whole number from 0 to 86400"],
  ["data.app_settings.0.value.min_interval_secs", 0.5, "must be a whole number from 0 to 86400"],
])("%s that is %j is refused in our words", async (path, value, message) => {
  file.data.app_settings.sort(({ key }) => (key === "alerts" ? -1 : 1));
  const names = path.split(".");
  const place = names.slice(0, -1).reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], file);
  (place as Record<string, unknown>)[names.at(-1) ?? ""] = value;
  expect(await restored(file)).toMatchObject({ status: 400, details: [{ path, message }] });
});

const MAIL = { smtp_host: "h", smtp_port: 25, username: "", smtp_password: null, from_address: "a@b.example" };

it.each<[name: string, field: string, value: unknown]>([
  ["usage_retention", "days", -5],
  ["usage_retention", "days", 0],
  ["usage_retention", "days", 1e15],
  ["energy", "poll_interval_secs", 0],
  ["energy", "poll_interval_secs", -5],
  ["energy", "pue", 0],
  ["energy", "energy_cost_per_kwh", -1],
  ["energy", "prometheus_url", "ftp://h"],
  ["jobsched", "api_version", "../../x"],
  ["jobsched", "user", "a\r\nb"],
  ["jobsched", "url", "http://a:b@h"],
  ["jobsched", "node_aliases.0.host", ""],
  ["alerts", "min_interval_secs", -1],
  ["alerts", "email", { ...MAIL, starttls: true, recipients: [] }],
  ["alerts", "email", { ...MAIL, starttls: true, recipients: ["a@b.example"], smtp_port: 0 }],
  ["boons", "vision_max_images", -1],
  ["boons", "tool_loop_max_turns", 1e9],
  ["boons", "compression_neural_keep_ratio", 0],
  ["auto_router", "classifier_timeout_ms", -1],
  ["assistant", "bench_max_requests", 1e12],
  ["assistant", "bench_max_duration_s", 0],
])("setting %s with %s %j is refused as by the API", async (key, field, value) => {
  const before = await dataOf();
  const [name = "", at, inner = ""] = field.split(".");
  const row = { key, value: { [name]: at === undefined ? value : [{ host: "h", ip: "h", [inner]: value }] } };
  const answer = await restored({ ...file, data: { app_settings: [row] } });
  expect(answer).toMatchObject({ status: 400, code: "validation_failed" });
  expect(answer.details?.[0]?.path).toMatch(new RegExp(`^data\\.app_settings\\.0\\.value\\.${name}`));
  expect(await dataOf()).toBe(before);
});

describe("a value that the API refuses and an earlier version took", () => {
  it.each<[BackupEntity, string, number, string]>([
    ["models", "input_cost_per_token", 1e30, "must be a number from 0 to 100"],
    ["models", "cost_per_image", 101, "must be a number from 0 to 100"],
    ["tenants", "budget_cost_usd", 1e30, "must be a number from 0 to 9007199"],
    ["tenants", "end_user_budget_cost_usd", 9_007_200, "must be a number from 0 to 9007199"],
    ["api_keys", "budget_cost_usd", 1e30, "must be a number from 0 to 9007199"],
  ])("of %s, %s %d, comes back with a warning that names its row", async (entity, field, value, message) => {
    const answer = await control.request("POST", "/api/v1/backup/restore", changed(entity, { [field]: value }));
    const { warnings } = (await answer.json()) as { readonly warnings: readonly string[] };
    const told = warnings.filter((warning) => warning.includes(`: data.${entity}.0.${field} ${message};`));
    const [row] = (await exported()).data[entity] as readonly Readonly<Record<string, unknown>>[];
    expect({ status: answer.status, told: told.length, stored: row?.[field] }).toEqual({
      status: 200,
      told: 1,
      stored: value,
    });
    const { id } = file.data[entity][0] as { readonly id: string };
    const path = entity === "api_keys" ? "keys" : entity;
    const read = await control.must<Readonly<Record<string, unknown>>>("GET", `/${path}/${id}`);
    expect(read[field]).toBe(value);
    const patched = await control.request("PATCH", `/api/v1/${path}/${id}`, { [field]: value + 1 });
    const { error } = (await patched.json()) as ErrorBody;
    expect({ status: patched.status, details: error.details }).toEqual({
      status: 400,
      details: [{ path: field, message }],
    });
    await restored(file);
  });
});

it("names the fields that a row of a file of this version lacks, and restores their defaults", async () => {
  const [first, ...rest] = file.data.tenants;
  const { status: _status, budget_cost_usd: _cost, ...row } = first as (typeof file.data.tenants)[number];
  const lacking = { ...file, data: { ...file.data, tenants: [row, ...rest] } };
  const of = async (input: object) => {
    const answer = await control.request("POST", "/api/v1/backup/restore?dry_run=true", input);
    const { warnings } = (await answer.json()) as { readonly warnings: readonly string[] };
    return warnings.filter((warning) => warning.includes("lacks"));
  };
  expect({
    own: await of(lacking),
    older: await of({ ...lacking, gateway_version: "0.0.1" }),
    whole: await of(file),
  }).toEqual({
    own: [`tenant '${row.name}': data.tenants.0 lacks status, budget_cost_usd, so their defaults are restored`],
    older: [],
    whole: [],
  });
});

describe("a file of an older version", () => {
  it("may have addresses with a query or a fragment", async () => {
    const [model] = file.data.models;
    const [endpoint] = file.data.model_endpoints;
    const [server] = file.data.mcp_servers;
    const data = {
      models: [{ ...model, api_base: "http://127.0.0.1:9/v1?x=1" }],
      model_endpoints: [{ ...endpoint, model_id: model?.id, api_base: "http://127.0.0.1:9/v1#x" }],
      mcp_servers: [{ ...server, upstream_url: "http://127.0.0.1:9/mcp#x" }],
      app_settings: [{ key: "jobsched", value: { url: "http://127.0.0.1:9?x=1" } }],
    };
    expect(await restored({ ...file, data })).toMatchObject({ status: 200 });
    await restored(file);
  });

  it("may have names that only newer rules refuse: of a token's subject, of a group", async () => {
    const [key] = file.data.api_keys;
    const subject = { key_hash: identityKeyHash("https://issuer.example", "ann"), key_prefix: "jwt:0123456789abcd" };
    const id = "00000000-0000-4000-8000-0000000000aa";
    const named = { ...key, ...subject, id, name: REVERSED, previous_key_hash: null };
    const group = { name: "a/b", weight: 1, created_at: file.exported_at };
    expect(await restored({ ...file, data: { api_keys: [named], fairshare_groups: [group] } })).toMatchObject({
      status: 200,
    });
    const broken = { ...named, name: "two\nlines" };
    expect(await restored({ ...file, data: { api_keys: [broken] } })).toMatchObject({
      status: 400,
      details: [{ path: "data.api_keys.0.name", message: KEY_NAME }],
    });
  });

  it("comes back although an earlier restore has stored a setting that nobody knows", async () => {
    const { db } = control.connection;
    await db.execute(sql`INSERT INTO app_settings (key, value, rev) VALUES ('zzz', '{}', 1)`);
    try {
      const whole = await exported();
      expect(whole.data.app_settings.map(({ key }) => key)).not.toContain("zzz");
      expect(await restored(whole)).toMatchObject({ status: 200 });
    } finally {
      await db.execute(sql`DELETE FROM app_settings WHERE key = 'zzz'`);
    }
  });
});

it("an object of more than 16 Ki names is refused before it is parsed", async () => {
  const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, nth) => [`f${nth}`, {}]));
  const statusOf = async (value: object) =>
    (
      await restored({
        ...file,
        data: {
          app_settings: [
            { key: "alerts", value },
            { key: ":".repeat(20_000), value },
          ],
        },
      })
    ).status;
  const many = 16 * 1024;
  expect({ most: await statusOf(names(many)), more: await statusOf(names(many + 1)) }).toEqual({
    most: 400,
    more: 413,
  });
});

it("more than 4 Mi values are refused before they are parsed; commas in a text do not count", async () => {
  const many = 4 * 1024 * 1024;
  const statusOf = async (body: string) => (await control.request("POST", "/api/v1/backup/restore", body)).status;
  const values = await statusOf(`{"data":[${"0,".repeat(many)}0]}`);
  const commas = await statusOf(JSON.stringify({ ...file, gateway_version: ",".repeat(many) }));
  expect({ values, isRead: commas !== 413 }).toEqual({ values: 413, isRead: true });
});
