/**
 * A refusal lists every offending field, dotted, the first of them as `param` (docs/rules/errors.md#wrong-fields).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
const ids = { tenant: "", model: "" };

beforeAll(async () => {
  control = await startControl();
  ids.tenant = ((await (await control.request("POST", "/api/v1/tenants", { name: "t" })).json()) as Tenant).id;
  ids.model = ((await (await control.request("POST", "/api/v1/models", { model_name: "m" })).json()) as Model).id;
});
afterAll(async () => {
  await control.close();
});

type Case = readonly [method: string, path: string, body: object | undefined, paths: readonly string[]];

const TIME = "2026-01-01T00:00:00Z";
const CASES: readonly Case[] = [
  [
    "POST",
    "/tenants",
    { name: "t2", weight: 0, allowed_models: "m", budget_tokens: -1, tracing_enabled: 1, status: "gone" },
    ["status", "weight", "budget_tokens", "allowed_models", "tracing_enabled"],
  ],
  ["POST", "/tenants", { weight: 0, timezone: "Mars/Base" }, ["name", "timezone", "weight"]],
  [
    "PATCH",
    "/tenants/{tenant}/schedule",
    {
      timezone: "Mars/Base",
      active_from: "2027-01-01T00:00:00Z",
      active_until: TIME,
      weekly_windows: [
        { day: 7, start_min: 600, end_min: 60 },
        { day: 1, start_min: 0, end_min: 60 },
        { day: "1", start_min: 61, end_min: 60 },
      ],
    },
    [
      "timezone",
      "weekly_windows.0.day",
      "weekly_windows.0.end_min",
      "weekly_windows.2.day",
      "weekly_windows.2.end_min",
      "active_until",
    ],
  ],
  ["PATCH", "/tenants/{tenant}/schedule", { active_from: "x", active_until: TIME }, ["active_from"]],
  [
    "PATCH",
    "/tenants/{tenant}/guardrails",
    { policy: { action: "shout", input_scanners: ["harm"], fail_open: 1 } },
    ["policy.action", "policy.fail_open"],
  ],
  [
    "PATCH",
    "/tenants/{tenant}/guardrails",
    { policy: { input_scanners: ["harm"], guard_model: 5 } },
    ["policy.guard_model"],
  ],
  [
    "POST",
    "/models",
    { api_base: "nowhere", input_cost_per_token: -1, tags: [1, 2], health: { maintenance_until: "soon" } },
    ["input_cost_per_token", "tags.0", "tags.1", "model_name", "api_base", "health.maintenance_until"],
  ],
  [
    "POST",
    "/models",
    { model_name: "dear", input_cost_per_token: 100.1, cached_input_cost_per_token: 1e300, cost_per_image: 100 },
    ["input_cost_per_token", "cached_input_cost_per_token"],
  ],
  ["PUT", "/models/{model}", { api_base: "ftp://h" }, ["upstream_model", "api_base"]],
  ["POST", "/models/{model}/endpoints", { api_base: "h", weight: 0 }, ["name", "api_base", "weight"]],
  [
    "POST",
    "/mcp-servers",
    { name: "a b", upstream_url: "h", auth_header: "a\nb" },
    ["name", "upstream_url", "auth_header"],
  ],
  [
    "PUT",
    "/settings/alerts",
    { slack_webhook_url: "h", min_interval_secs: -1 },
    ["slack_webhook_url", "min_interval_secs"],
  ],
  ["PUT", "/settings/alerts", { email: {} }, ["email.smtp_host", "email.from_address", "email.recipients"]],
  ["PUT", "/settings/energy", { enabled: true }, ["prometheus_url", "power_query"]],
  ["GET", "/keys?limit=0&cursor=x&tenant_id=y&disabled=z", undefined, ["limit", "cursor", "tenant_id", "disabled"]],
  ["GET", "/audit?limit=x&since_ms=y&until_ms=z", undefined, ["limit", "since_ms", "until_ms"]],
  [
    "GET",
    "/usage/logs?limit=0&since_ms=-1&status=odd&before_ms=5&tenant_id=x",
    undefined,
    ["since_ms", "tenant_id", "status", "limit", "before_request_id"],
  ],
  ["GET", "/usage/daily?start_day=2026-02-31&end_day=x&key_id=y", undefined, ["start_day", "end_day", "key_id"]],
];

it.each(CASES)("%s %s %j names every field that is wrong", async (method, path, body, paths) => {
  const filled = path.replace("{tenant}", ids.tenant).replace("{model}", ids.model);
  const response = await control.request(method, `/api/v1${filled}`, body);
  const { error } = (await response.json()) as {
    error: { param: string; details: { path: string; message: string }[] };
  };
  expect({ status: response.status, error }).toMatchObject({
    status: 400,
    error: { code: "validation_failed", message: "validation failed" },
  });
  expect(error.details.map((detail) => detail.path)).toEqual(paths);
  expect(error.param).toBe(paths[0]);
  expect(error.details.every(({ message }) => message !== "")).toBe(true);
});

it("the refusal of a backup names every row that is wrong", async () => {
  const file = (await (await control.request("GET", "/api/v1/backup/export")).json()) as { data: object };
  const group = { name: "twice", weight: 1, created_at: TIME };
  const setting = (value: object) => ({ key: "usage_retention", value });
  const wrong = async (data: object): Promise<readonly string[]> => {
    const response = await control.request("POST", "/api/v1/backup/restore", { ...file, data });
    const { error } = (await response.json()) as { error: { details: { path: string }[] } };
    return error.details.map(({ path }) => path);
  };
  expect(
    await wrong({
      fairshare_groups: [
        { ...group, weight: 0 },
        { ...group, name: " " },
      ],
    }),
  ).toEqual(["data.fairshare_groups.0.weight", "data.fairshare_groups.1.name"]);
  expect(
    await wrong({
      fairshare_groups: [group, group, group],
      app_settings: [setting({ days: "x" }), setting({ days: 1.5 })],
    }),
  ).toEqual([
    "data.fairshare_groups.1.name",
    "data.fairshare_groups.2.name",
    "data.app_settings.1.key",
    "data.app_settings.0.value.days",
    "data.app_settings.1.value.days",
  ]);
  const tenant = { name: "a", fairshare_group: "nowhere", created_at: TIME, updated_at: TIME };
  expect(
    await wrong({
      tenants: [
        { ...tenant, id: "00000000-0000-4000-8000-000000000001" },
        { ...tenant, id: "00000000-0000-4000-8000-000000000002", name: "b", fairshare_group: "default" },
        { ...tenant, id: "00000000-0000-4000-8000-000000000003", name: "c" },
      ],
    }),
  ).toEqual(["data.tenants.0.fairshare_group", "data.tenants.2.fairshare_group"]);
});

it.each([
  ["a body", "/tenants", 60_000, (zeros: string) => `{"name":"a","allowed_models":${zeros}}`],
  ["a backup of rows", "/backup/restore", 500_000, (zeros: string) => backupOf(`"api_keys":${zeros}`)],
  ["a backup of macs", "/backup/restore", 500_000, (zeros: string) => backupOf(`"macs":${zeros}`)],
] as const)(
  "the refusal of %s with only wrong values lists at most a thousand errors",
  async (_, path, count, bodyOf) => {
    const response = await control.request("POST", `/api/v1${path}`, bodyOf(`[${"0,".repeat(count)}0]`));
    const { error } = (await response.json()) as { error: { details: unknown[] } };
    expect({ status: response.status, errors: error.details.length }).toEqual({ status: 400, errors: 1000 });
  },
);

it("a row of a backup with more values than a body can have is refused before it is read", async () => {
  const body = backupOf(`"tenants":[{"name":"a","allowed_models":[${"0,".repeat(1_100_000)}0]}]`);
  const response = await control.request("POST", "/api/v1/backup/restore", body);
  const { error } = (await response.json()) as { error: { details: unknown[] } };
  expect({ status: response.status, details: error.details.slice(0, 3) }).toEqual({
    status: 400,
    details: [{ path: "data.tenants.0", message: "must have at most 1048576 values" }],
  });
});

it.each([
  ["NUL", { note: "a\0b" }],
  ["half a surrogate pair", { list: [{ note: "\ud800" }] }],
  ["NUL in a name", { "a\0": 1 }],
])("a setting in a backup with %s is refused by its place", async (_, value) => {
  const file = (await (await control.request("GET", "/api/v1/backup/export")).json()) as { data: object };
  for (const key of ["usage_retention", "of_a_later_version"]) {
    const body = { ...file, data: { app_settings: [{ key, value }] } };
    const response = await control.request("POST", "/api/v1/backup/restore", body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { param: "data.app_settings.0.value" } },
    });
  }
});

it("a setting in a backup that is nested without end is refused by its place", async () => {
  const file = (await (await control.request("GET", "/api/v1/backup/export")).json()) as { data: object };
  const depth = 200_000;
  const nested = `{"key":"of_a_later_version","value":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}}`;
  const text = JSON.stringify({ ...file, data: { app_settings: ["HERE"] } }).replace('"HERE"', nested);
  const response = await control.request("POST", "/api/v1/backup/restore", text);
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 400,
    body: { error: { param: "data.app_settings.0.value" } },
  });
});

/** The text of a backup with these lists. */
function backupOf(lists: string): string {
  const encryption = { cipher_enabled: false, key_check: null, api_key_pepper_set: false };
  const head = { format: "gateway-config-backup", version: 1, exported_at: TIME, gateway_version: "0", encryption };
  return `${JSON.stringify(head).slice(0, -1)},"data":{${lists}}}`;
}
