import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
const ABSENT = "00000000-0000-4000-8000-000000000000";
const ABSENT_TOO = "00000000-0000-4000-8000-000000000001";
/** A request without spans is no error. */
const UNTRACED = "00000000-0000-4000-8000-000000000002";
const ABSENT_GROUP = "no-such-group";
const ABSENT_SESSION = "00000000-0000-4000-8000-000000000003";
const ABSENT_ALERT = "no_such_alert";

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

async function json(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

const ROUTES: readonly (readonly [method: string, path: string, body: object | null])[] = [
  ["GET", "/api/v1/users", null],
  ["GET", `/api/v1/users/${ABSENT}`, null],
  ["PATCH", `/api/v1/users/${ABSENT}`, { status: "active" }],
  ["DELETE", `/api/v1/users/${ABSENT}`, null],
  ["GET", "/api/v1/tenants", null],
  ["POST", "/api/v1/tenants", { name: "x" }],
  ["GET", `/api/v1/tenants/${ABSENT}`, null],
  ["DELETE", `/api/v1/tenants/${ABSENT}`, null],
  ["PATCH", `/api/v1/tenants/${ABSENT}/status`, { status: "active" }],
  ["PATCH", `/api/v1/tenants/${ABSENT}/weight`, { weight: 2 }],
  ["PUT", `/api/v1/tenants/${ABSENT}/quota`, { tokens_per_minute: 0 }],
  ["PATCH", `/api/v1/tenants/${ABSENT}/group`, { fairshare_group: "default" }],
  ["PUT", `/api/v1/tenants/${ABSENT}`, { description: "d" }],
  ["PATCH", `/api/v1/tenants/${ABSENT}`, { description: "d" }],
  ["PATCH", `/api/v1/tenants/${ABSENT}/guardrails`, { policy: null }],
  ["PATCH", `/api/v1/tenants/${ABSENT}/compression`, { policy: null }],
  ["PUT", `/api/v1/tenants/${ABSENT}/tracing`, { tracing_enabled: true }],
  ["PUT", `/api/v1/tenants/${ABSENT}/synthetic`, { synthetic: true }],
  ["GET", `/api/v1/tenants/${ABSENT}/keys`, null],
  ["POST", `/api/v1/tenants/${ABSENT}/keys`, {}],
  ["PATCH", `/api/v1/tenants/${ABSENT}/schedule`, {}],
  ["PATCH", `/api/v1/tenants/${ABSENT}/allowlist`, { allowed_models: null }],
  ["PATCH", `/api/v1/tenants/${ABSENT}/budget`, { budget_tokens: 5 }],
  ["GET", `/api/v1/tenants/${ABSENT}/budget/usage`, null],
  ["GET", `/api/v1/keys/${ABSENT}/budget/usage`, null],
  ["GET", `/api/v1/keys/${ABSENT}`, null],
  ["PUT", `/api/v1/keys/${ABSENT}`, { name: "x" }],
  ["PATCH", `/api/v1/keys/${ABSENT}`, { name: "x" }],
  ["POST", `/api/v1/keys/${ABSENT}/rotate`, {}],
  ["PUT", `/api/v1/keys/${ABSENT}/disabled`, { disabled: true }],
  ["PUT", `/api/v1/keys/${ABSENT}/tracing`, { tracing_enabled: true }],
  ["DELETE", `/api/v1/keys/${ABSENT}`, null],
  ["GET", "/api/v1/keys", null],
  ["GET", "/api/v1/models", null],
  ["POST", "/api/v1/models", { model_name: "x" }],
  ["POST", "/api/v1/models/validate", { api_base: "http://127.0.0.1:9/v1", upstream_model: "m" }],
  ["POST", "/api/v1/guardrails/test", { text: "x", policy: {} }],
  ["GET", `/api/v1/models/${ABSENT}`, null],
  ["PUT", `/api/v1/models/${ABSENT}`, { upstream_model: "x", api_base: "" }],
  ["PATCH", `/api/v1/models/${ABSENT}`, { upstream_model: "x" }],
  ["DELETE", `/api/v1/models/${ABSENT}`, null],
  ["PUT", `/api/v1/models/${ABSENT}/capacity`, { max_in_flight: 2 }],
  ["PUT", `/api/v1/models/${ABSENT}/capacity-mode`, { capacity_mode: "tuned" }],
  ["PUT", `/api/v1/models/${ABSENT}/weight`, { admission_weight: 50 }],
  ["PUT", `/api/v1/models/${ABSENT}/cache`, { cache_enabled: true }],
  ["PUT", `/api/v1/models/${ABSENT}/reliability`, {}],
  ["POST", `/api/v1/models/${ABSENT}/autotune`, {}],
  ["POST", `/api/v1/models/${ABSENT}/autotune/apply`, { max_in_flight: 4 }],
  ["GET", "/api/v1/models/health", null],
  ["POST", "/api/v1/models/health", null],
  ["POST", `/api/v1/models/${ABSENT}/health/check`, null],
  ["GET", `/api/v1/models/${ABSENT}/health`, null],
  ["PUT", `/api/v1/models/${ABSENT}/health/config`, { failure_threshold: 3 }],
  ["GET", `/api/v1/models/${ABSENT}/endpoints`, null],
  ["POST", `/api/v1/models/${ABSENT}/endpoints`, { name: "e", api_base: "http://127.0.0.1:9/v1" }],
  ["PUT", `/api/v1/models/${ABSENT}/endpoints/${ABSENT_TOO}`, { weight: 5 }],
  ["DELETE", `/api/v1/models/${ABSENT}/endpoints/${ABSENT_TOO}`, null],
  ["GET", "/api/v1/managed", null],
  ["GET", `/api/v1/models/${ABSENT}/managed`, null],
  ["PUT", `/api/v1/models/${ABSENT}/managed`, { partition: "gpu", serving_port: 8000, launch_command: "serve" }],
  ["PATCH", `/api/v1/models/${ABSENT}/managed`, { nodes: 2 }],
  ["DELETE", `/api/v1/models/${ABSENT}/managed`, null],
  ["PATCH", `/api/v1/models/${ABSENT}/managed/provision-error`, { error: null }],
  ["GET", "/api/v1/replicas", null],
  ["GET", `/api/v1/models/${ABSENT}/replicas`, null],
  ["POST", `/api/v1/models/${ABSENT}/replicas`, { job_id: "4711" }],
  ["POST", `/api/v1/models/${ABSENT}/replicas/clear-lost`, null],
  ["PATCH", `/api/v1/replicas/${ABSENT}`, { state: "lost" }],
  ["DELETE", `/api/v1/replicas/${ABSENT}`, null],
  ["POST", `/api/v1/replicas/${ABSENT}/restart`, null],
  ["GET", "/api/v1/jobsched/resources", null],
  ["GET", "/api/v1/prices", null],
  ["GET", "/api/v1/recipes", null],
  ["POST", "/api/v1/recipes", { name: "x", body: {} }],
  ["PUT", `/api/v1/recipes/${ABSENT}`, { description: "d" }],
  ["DELETE", `/api/v1/recipes/${ABSENT}`, null],
  ["GET", "/api/v1/audit", null],
  ["GET", "/api/v1/alerts", null],
  ["GET", "/api/v1/alerts/history", null],
  ["GET", `/api/v1/alerts/${ABSENT_ALERT}`, null],
  ["PATCH", `/api/v1/alerts/${ABSENT_ALERT}`, { acknowledged: true }],
  ["GET", "/api/v1/invitations", null],
  ["POST", "/api/v1/invitations", { email: "new@example.org", role: "auditor" }],
  ["DELETE", `/api/v1/invitations/${ABSENT}`, null],
  ["GET", "/api/v1/group-grants", null],
  ["POST", "/api/v1/group-grants", { provider: "corp", group_name: "ops", role: "auditor" }],
  ["DELETE", `/api/v1/group-grants/${ABSENT}`, null],
  ["GET", `/api/v1/users/${ABSENT}/sessions`, null],
  ["DELETE", `/api/v1/users/${ABSENT}/sessions`, null],
  ["DELETE", `/api/v1/users/${ABSENT}/sessions/${ABSENT_SESSION}`, null],
  ["PATCH", `/api/v1/fairshare/groups/${ABSENT_GROUP}`, { name: "other" }],
  ["DELETE", `/api/v1/fairshare/groups/${ABSENT_GROUP}`, null],
  ["GET", "/api/v1/alert-channels", null],
  ["POST", "/api/v1/alert-channels", { name: "x", type: "slack", url: "http://127.0.0.1:9/hook" }],
  ["GET", `/api/v1/alert-channels/${ABSENT}`, null],
  ["PATCH", `/api/v1/alert-channels/${ABSENT}`, { enabled: false }],
  ["DELETE", `/api/v1/alert-channels/${ABSENT}`, null],
  ["POST", `/api/v1/alert-channels/${ABSENT}/test`, null],
  ["GET", "/api/v1/settings/alerts", null],
  ["PUT", "/api/v1/settings/alerts", {}],
  ["POST", "/api/v1/settings/alerts/test", null],
  ["GET", "/api/v1/settings/usage-retention", null],
  ["PUT", "/api/v1/settings/usage-retention", { days: 9 }],
  ["GET", "/api/v1/settings/auto-router", null],
  ["PUT", "/api/v1/settings/auto-router", {}],
  ["GET", "/api/v1/settings/boons", null],
  ["PUT", "/api/v1/settings/boons", {}],
  ["GET", "/api/v1/settings/energy", null],
  ["PUT", "/api/v1/settings/energy", {}],
  ["POST", "/api/v1/settings/energy/test", {}],
  ["GET", "/api/v1/settings/jobsched", null],
  ["PUT", "/api/v1/settings/jobsched", {}],
  ["POST", "/api/v1/settings/jobsched/test", null],
  ["GET", "/api/v1/settings/jobsched/resolved", null],
  ["GET", "/api/v1/settings/compressor", null],
  ["POST", "/api/v1/assistant/key", null],
  ["POST", `/api/v1/tenants/${ABSENT}/console-key`, null],
  ["GET", "/api/v1/benchmarks", null],
  ["POST", "/api/v1/benchmarks", { model: "x" }],
  ["GET", `/api/v1/benchmarks/${ABSENT}`, null],
  ["POST", `/api/v1/benchmarks/${ABSENT}/stop`, null],
  ["GET", "/api/v1/settings/assistant", null],
  ["PUT", "/api/v1/settings/assistant", {}],
  ["GET", "/api/v1/fairshare/groups", null],
  ["POST", "/api/v1/fairshare/groups", { name: "x" }],
  ["PATCH", `/api/v1/fairshare/groups/${ABSENT_GROUP}/weight`, { weight: 2 }],
  ["GET", "/api/v1/mcp-servers", null],
  ["POST", "/api/v1/mcp-servers", { name: "x", upstream_url: "http://127.0.0.1/mcp" }],
  ["GET", `/api/v1/mcp-servers/${ABSENT}`, null],
  ["PUT", `/api/v1/mcp-servers/${ABSENT}`, { enabled: false }],
  ["PATCH", `/api/v1/mcp-servers/${ABSENT}`, { enabled: false }],
  ["DELETE", `/api/v1/mcp-servers/${ABSENT}`, null],
  ["POST", `/api/v1/mcp-servers/${ABSENT}/test`, null],
  ["GET", "/api/v1/usage/logs", null],
  ["GET", "/api/v1/usage/logs/totals", null],
  ["GET", "/api/v1/usage/logs/facets", null],
  ["GET", "/api/v1/usage", null],
  ["GET", "/api/v1/usage/keys", null],
  ["GET", "/api/v1/usage/keys/summary", null],
  ["GET", "/api/v1/usage/models", null],
  ["GET", "/api/v1/usage/daily", null],
  ["GET", "/api/v1/usage/health", null],
  ["GET", "/api/v1/usage/series", null],
  ["GET", "/api/v1/usage/series/tenants", null],
  ["GET", "/api/v1/usage/series/models", null],
  ["GET", "/api/v1/usage/breakdown", null],
  ["GET", "/api/v1/usage/cache", null],
  ["GET", `/api/v1/usage/logs/${UNTRACED}`, null],
  ["GET", `/api/v1/usage/logs/${UNTRACED}/spans`, null],
  ["GET", `/api/v1/usage/logs/${UNTRACED}/capture`, null],
  ["POST", "/api/v1/usage/compact", null],
  ["GET", "/api/v1/budgets", null],
  ["GET", "/api/v1/costs", null],
  ["GET", "/api/v1/costs/daily", null],
  ["GET", "/api/v1/costs/months", null],
  ["GET", "/api/v1/overview/summary", null],
  ["GET", "/api/v1/overview/attention", null],
  ["GET", `/api/v1/keys/${ABSENT}/usage`, null],
  ["GET", "/api/v1/stats", null],
  ["GET", "/api/v1/capacity", null],
  ["PUT", "/api/v1/capacity", { max_in_flight: 8 }],
  ["GET", "/api/v1/fairshare/live", null],
  ["GET", `/api/v1/tenants/${ABSENT}/load`, null],
  ["POST", "/api/v1/resync", null],
  ["GET", "/api/v1/fairshare/history", null],
  ["GET", "/api/v1/about", null],
  ["GET", "/api/v1/rotation", null],
  ["GET", "/api/v1/settings", null],
  ["GET", "/api/v1/backup/export", null],
  ["POST", "/api/v1/backup/restore", {}],
  ["GET", "/api/v1/batches", null],
  ["GET", `/api/v1/batches/${ABSENT}`, null],
  ["POST", `/api/v1/batches/${ABSENT}/cancel`, null],
];

describe.each(ROUTES)("%s %s", (method, path, body) => {
  it.each([
    {},
    { authorization: ADMIN_TOKEN },
    { authorization: "Bearer wrong" },
    { authorization: `bearer ${ADMIN_TOKEN}` },
  ])("is refused with %j", async (headers) => {
    const response = await control.app.request(path, {
      method,
      headers,
      ...(body === null ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.status).toBe(401);
    expect(await json(response)).toEqual({
      error: { message: "unauthorized", type: "authentication_error", code: "unauthorized", param: null },
    });
  });

  if (path.includes(ABSENT)) {
    it("answers 404 for an absent id and for what is no id", { tags: ["check"] }, async () => {
      for (const id of [ABSENT, "nonsense"]) {
        const response = await control.request(method, path.replace(ABSENT, id), body ?? undefined);
        expect({ status: response.status, body: await json(response) }).toEqual({
          status: 404,
          body: { error: { message: "not found", type: "not_found_error", code: "not_found", param: null } },
        });
      }
    });
  }

  if (body !== null) {
    it("names a malformed, a wrong and an oversize body", async () => {
      const malformed = await control.request(method, path, "{");
      expect({ status: malformed.status, body: await json(malformed) }).toMatchObject({
        status: 400,
        body: { error: { code: "invalid_json" } },
      });
      const list = await control.request(method, path, "[]");
      expect([400, 404]).toContain(list.status);
      const allowed = (path.endsWith("/restore") ? 64 : 2) * 1024 * 1024;
      const oversize = await control.request(method, path, { ...body, description: "x".repeat(allowed) });
      expect({ status: oversize.status, body: await json(oversize) }).toMatchObject({
        status: 413,
        body: { error: { code: "request_too_large" } },
      });
    });
  }
});

describe("what no route serves", () => {
  it("is 401 before 404, and 405 with the methods that exist", async () => {
    expect((await control.app.request("/api/v1/nothing")).status).toBe(401);
    expect((await control.request("GET", "/api/v1/nothing")).status).toBe(404);
    const response = await control.request("PATCH", "/api/v1/tenants");
    expect({ status: response.status, allow: response.headers.get("allow") }).toEqual({
      status: 405,
      allow: "GET, POST",
    });
  });

  it.each([
    ["/api/v1/models/health", "GET, POST", ["DELETE", "PATCH", "PUT"]],
    ["/api/v1/models/validate", "POST", ["DELETE", "GET", "HEAD", "PATCH", "PUT"]],
  ])("is 405 on %s, which is no model, with %s", async (path, allow, others) => {
    for (const method of others) {
      const response = await control.request(method, path);
      expect({ method, status: response.status, allow: response.headers.get("allow") }).toEqual({
        method,
        status: 405,
        allow,
      });
    }
    expect((await control.request("HEAD", "/api/v1/tenants")).status).toBe(200);
  });

  it("says what runs, and on which schema", async () => {
    const about = await json(await control.request("GET", "/api/v1/about"));
    const { rows } = (await control.connection.db.execute(
      sql`SELECT max(version) AS newest FROM schema_migrations`,
    )) as unknown as { rows: { newest: number }[] };
    expect(about).toMatchObject({
      version: "0.0.0",
      runtime: `Node ${process.versions.node}`,
      license: "Apache-2.0",
      schema_version: Number(rows[0]?.newest),
      schema_applied_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      management_body_max_bytes: 2 * 1024 * 1024,
    });
    expect(about["cells"]).toContain(about["cell"]);
  });

  it("needs no token for health, version and document", async () => {
    expect(await (await control.app.request("/api/v1/health")).text()).toBe("ok");
    expect(await json(await control.app.request("/api/v1/version"))).toEqual({
      version: "0.0.0",
      git_sha: null,
      built_at: null,
    });
    const document = await json(await control.app.request("/api/v1/openapi.json"));
    expect(document["openapi"]).toBe("3.1.0");
    const documented = Object.entries(document["paths"] as Record<string, object>).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { security }]: [string, { security?: object[] }]) =>
        security?.length === 0 ? [] : [`${method.toUpperCase()} ${path}`],
      ),
    );
    expect(documented.sort()).toEqual(
      ROUTES.map(
        ([method, path]) =>
          `${method} ${path.replace(ABSENT, "{id}").replace(UNTRACED, "{request_id}").replace(ABSENT_TOO, "{endpoint_id}").replace(ABSENT_GROUP, "{name}").replace(ABSENT_ALERT, "{key}").replace(ABSENT_SESSION, "{session_id}")}`,
      ).sort(),
    );
  });
});
