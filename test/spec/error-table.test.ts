/** The data-plane errors, row by row (docs/rules/errors.md#data-plane-codes): status, body, headers, and the usage row of each. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ERROR_TABLE } from "../../shared/errors.ts";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";

const fixture = useGateway();

interface Raised {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly param?: string;
  /** The headers for retries and authentication that the error has. */
  readonly headers?: Readonly<Record<string, unknown>>;
  /** How its usage row differs from that of a refused chat request for the minted model. Null: it leaves no row. */
  readonly row?: Partial<UsageLog> | null;
  /** Sends a request that gets this error. */
  readonly by: (minted: Minted) => Promise<Response>;
}

async function post(minted: Minted, path: string, body: string, headers: Record<string, string> = {}) {
  const common = { authorization: `Bearer ${minted.secret}`, "x-session-id": minted.mark };
  return await fetch(fixture.gateway.proxyUrl + path, { method: "POST", body, headers: { ...common, ...headers } });
}

const chat = async (minted: Minted, body: Readonly<Record<string, unknown>> = {}): Promise<Response> =>
  await fixture.gateway.chat(minted, { body, headers: { "x-session-id": minted.mark } });

/** Sends a chat after a change of the tenant, its key or the model. */
const after =
  (method: string, path: (minted: Minted) => string, body: object) =>
  async (minted: Minted): Promise<Response> => {
    await fixture.gateway.must(method, path(minted), body);
    return await chat(minted);
  };

const tenant = (part: string) => (minted: Minted) => `/tenants/${minted.tenant.id}/${part}`;
const key = (minted: Minted): string => `/keys/${minted.key.id}`;
const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

/** Sends a chat to a model with an upstream of its own, which does not answer. */
const chatAt =
  (apiBase: string) =>
  async (minted: Minted): Promise<Response> => {
    const other = await fixture.gateway.mint(apiBase, "hang", { request_timeout_secs: 1 });
    return await chat(minted, { model: other.model.model_name });
  };

async function mcp(minted: Minted, fields: object): Promise<Response> {
  const name = `mcp-${minted.mark}`;
  await fixture.gateway.must("POST", "/mcp-servers", { name, upstream_url: "http://127.0.0.1:9/mcp", ...fields });
  return await post(minted, `/mcp/${name}`, "{}");
}

const invalid = { type: "invalid_request_error", headers: { "x-should-retry": "false" } } as const;
const stranger = {
  type: "authentication_error",
  headers: { "www-authenticate": "Bearer" },
  // Rows without a tenant are bounded in number, and a tenant cannot find them.
  row: null,
} as const;
const denied = { type: "permission_error", row: { model: "" } } as const;
const digits: unknown = expect.stringMatching(/^\d+$/);
const waiting = { "retry-after": digits, "retry-after-ms": digits };
const spent = (message: string, by: Raised["by"]): Raised => {
  return { type: "permission_error", headers: { "x-should-retry": "false" }, status: 403, message, by };
};

/** Sends a chat under a guardrails policy. */
const guarded = (policy: object) => after("PATCH", tenant("guardrails"), { policy });

const TABLE: Readonly<Record<string, Raised>> = {
  invalid_path: {
    ...invalid,
    status: 400,
    message: "invalid request path",
    row: { model: "", request_type: "other" },
    by: async (minted) => await post(minted, "/v1/chat%2fcompletions", "{}"),
  },
  invalid_json: {
    ...invalid,
    status: 400,
    message: "request body is not valid JSON",
    row: { model: "" },
    by: async (minted) => await post(minted, "/v1/chat/completions", "{"),
  },
  invalid_multipart: {
    ...invalid,
    status: 400,
    message: "invalid multipart body",
    row: { model: "", request_type: "audio" },
    by: async (minted) => await post(minted, "/v1/audio/transcriptions", "{"),
  },
  model_required: {
    ...invalid,
    status: 400,
    message: "model is required",
    param: "model",
    row: { model: "" },
    by: async (minted) => await chat(minted, { model: "" }),
  },
  request_larger_than_quota: {
    ...invalid,
    status: 400,
    message: expect.stringMatching(/^request needs \d+ tokens, and tokens_per_minute of the tenant is 1: /) as string,
    by: after("PUT", tenant("quota"), { tokens_per_minute: 1 }),
  },
  request_blocked: {
    ...invalid,
    status: 400,
    message: "request blocked by content policy",
    by: guarded({ input_scanners: ["ban_keywords"], ban_keywords: ["hello"] }),
  },
  response_blocked: {
    ...invalid,
    status: 400,
    message: "response blocked by content policy",
    // the upstream's work stays on the row, and is charged to nobody
    row: {
      admission: "fast",
      upstream_status: 200,
      total_tokens: 33,
      ttft_ms: expect.any(Number) as unknown as number,
    },
    by: guarded({ output_scanners: ["ban_keywords"], ban_keywords: ["world"] }),
  },
  missing_api_key: {
    ...stranger,
    status: 401,
    message: "missing bearer token",
    by: async () => await fetch(`${fixture.gateway.proxyUrl}/v1/models`),
  },
  invalid_api_key: {
    ...stranger,
    status: 401,
    message: "invalid api key",
    by: async (minted) => await chat({ ...minted, secret: `sk_${"0".repeat(48)}` }),
  },
  api_key_disabled: {
    ...denied,
    status: 403,
    message: "api key disabled",
    by: after("PUT", (minted) => `${key(minted)}/disabled`, { disabled: true }),
  },
  api_key_expired: {
    ...denied,
    status: 403,
    message: "api key expired",
    by: after("PUT", key, { expires_at: inDays(-1) }),
  },
  tenant_not_active: {
    ...denied,
    status: 403,
    message: "tenant is not active",
    by: after("PATCH", tenant("status"), { status: "suspended" }),
  },
  tenant_not_started: {
    ...denied,
    status: 403,
    message: "tenant is not active yet",
    by: after("PATCH", tenant("schedule"), { active_from: inDays(1) }),
  },
  tenant_expired: {
    ...denied,
    status: 403,
    message: "tenant access has expired",
    by: after("PATCH", tenant("schedule"), { active_until: inDays(-1) }),
  },
  outside_access_window: {
    ...denied,
    status: 403,
    message: "tenant is outside its scheduled access window",
    by: after("PATCH", tenant("schedule"), {
      weekly_windows: [{ day: (new Date().getUTCDay() + 3) % 7, start_min: 0, end_min: 60 }],
    }),
  },
  model_disabled: {
    status: 403,
    type: "permission_error",
    message: "model is disabled",
    param: "model",
    by: async (minted) => {
      await fixture.gateway.must("PUT", `/models/${minted.model.id}`, { ...minted.model, enabled: false });
      return await chat(minted);
    },
  },
  model_not_permitted: {
    status: 403,
    type: "permission_error",
    message: "model not permitted for tenant",
    param: "model",
    by: after("PATCH", tenant("allowlist"), { allowed_models: ["another"] }),
  },
  tenant_budget_exhausted: spent(
    "tenant term budget exhausted",
    after("PATCH", tenant("budget"), { budget_tokens: 0, budget_cost_usd: null, budget_period: "monthly" }),
  ),
  end_user_budget_exhausted: spent("end user term budget exhausted", async (minted) => {
    await fixture.gateway.must("PATCH", tenant("budget")(minted), { end_user_budget_tokens: 0 });
    return await chat(minted, { user: "u-1" });
  }),
  key_budget_exhausted: spent("api key term budget exhausted", after("PUT", key, { budget_tokens: 0 })),
  mcp_server_disabled: {
    ...denied,
    status: 403,
    message: "mcp server is disabled",
    row: { model: "", request_type: "mcp" },
    by: async (minted) => await mcp(minted, { enabled: false }),
  },
  model_not_found: {
    status: 404,
    type: "not_found_error",
    message: "model 'no such model' is not registered",
    param: "model",
    row: { model: "" },
    by: async (minted) => await chat(minted, { model: "no such model" }),
  },
  mcp_server_not_found: {
    status: 404,
    type: "not_found_error",
    message: "mcp server 'absent' is not registered",
    row: { model: "", request_type: "mcp" },
    by: async (minted) => await post(minted, "/mcp/absent", "{}"),
  },
  unknown_endpoint: {
    status: 404,
    type: "not_found_error",
    message: "unknown endpoint",
    row: null,
    by: async (minted) => await post(minted, "/v1/nowhere", "{}"),
  },
  request_too_large: {
    type: "invalid_request_error",
    status: 413,
    message: "request body too large",
    row: { model: "" },
    by: async (minted) => await post(minted, "/v1/chat/completions", " ".repeat(33_554_433)),
  },
  token_budget_exceeded: {
    status: 429,
    type: "rate_limit_error",
    message: "token budget exceeded",
    headers: waiting,
    by: async (minted) => {
      await fixture.gateway.must("PUT", tenant("quota")(minted), { tokens_per_minute: 1_000 });
      const { model } = await fixture.gateway.mint(fixture.upstream.url, "out=5000");
      const spent = await chat(minted, { model: model.model_name });
      await spent.text();
      await fixture.gateway.row(minted.tenant.id, spent.headers.get("x-gateway-request-id"));
      return await chat(minted);
    },
  },
  request_rate_exceeded: {
    status: 429,
    type: "rate_limit_error",
    message: "request rate exceeded",
    headers: waiting,
    by: async (minted) => {
      await fixture.gateway.must("PUT", key(minted), { requests_per_minute: 1 });
      await (await chat(minted)).body?.cancel();
      return await chat(minted);
    },
  },
  upstream_failed: {
    status: 502,
    type: "upstream_error",
    message: "upstream request failed",
    row: { admission: "fast", model: expect.stringMatching(/^model-/) as unknown as string },
    by: chatAt("http://127.0.0.1:9/v1"),
  },
  mcp_upstream_failed: {
    status: 502,
    type: "upstream_error",
    message: "mcp upstream request failed",
    row: { model: "", request_type: "mcp" },
    by: async (minted) => await mcp(minted, {}),
  },
  content_policy_unavailable: {
    status: 503,
    type: "server_error",
    message: "content policy scanner unavailable",
    row: { admission: "fast" },
    by: guarded({ input_scanners: ["harm"], guard_model: "no such model", fail_open: false }),
  },
  no_model_available: {
    status: 503,
    type: "server_error",
    message: "no model is available to satisfy the auto request",
    param: "model",
    row: { model: "" },
    by: async (minted) => {
      await fixture.gateway.must("PATCH", tenant("allowlist")(minted), { allowed_models: ["no such model"] });
      return await chat(minted, { model: "auto" });
    },
  },
  upstream_timeout: {
    status: 504,
    type: "upstream_error",
    message: "upstream request timed out",
    row: { admission: "fast", model: expect.stringMatching(/^model-/) as unknown as string },
    by: async (minted) => await chatAt(fixture.upstream.url)(minted),
  },
};

/** The test files of the other errors. Their causes need a part that is away, a provider, or a record that no API call leaves behind. */
const ELSEWHERE = {
  untranslatable_field: "test/spec/dialects.test.ts",
  untranslatable_route: "test/spec/dialects.test.ts",
  previous_response_not_found: "test/spec/responses-socket.test.ts",
  websocket_unsupported: "test/spec/known-reports.test.ts",
  realtime_upgrade_required: "test/spec/realtime.test.ts",
  realtime_session_expired: "test/faults/realtime-limits.test.ts",
  realtime_backlog: "test/faults/realtime-limits.test.ts",
  realtime_session_idle: "edge/pipeline/realtime/realtime-session.test.ts",
  request_timeout: "test/faults/held-uploads.test.ts",
  tenant_not_found: "edge/pipeline/run.test.ts",
  internal_error: "edge/pipeline/run.test.ts",
  queue_full: "test/faults/queue-bound.test.ts",
  validation_failed: "test/spec/hostile-numbers.test.ts",
  scheduler_unavailable: "test/faults/objects-away.test.ts",
  budget_check_failed: "edge/objects/cell/budget-gateway.test.ts",
  key_budget_check_failed: "edge/objects/cell/budget-gateway.test.ts",
  object_not_found: "test/spec/stored-answers.test.ts",
  mcp_session_not_found: "test/spec/mcp-sessions.test.ts",
  invalid_token: "test/faults/identity.test.ts",
  identity_unavailable: "test/faults/identity.test.ts",
  files_busy: "test/sdk/file-calls.test.ts",
  files_unavailable: "test/faults/batches.test.ts",
  file_quota_exceeded: "test/sdk/batches.test.ts",
  key_store_unavailable: "test/faults/stores-away.test.ts",
  gateway_stopping: "test/faults/drain.test.ts",
  unsupported_encoding: "test/spec/content-codings.test.ts",
  upstream_stream_error: "test/spec/upstream.test.ts",
} as const;

/** Where most requests are refused: before the others, which `npm test` leaves out. */
const MAIN = [
  "invalid_json",
  "missing_api_key",
  "invalid_api_key",
  "api_key_disabled",
  "tenant_not_active",
  "model_not_permitted",
  "tenant_budget_exhausted",
  "model_not_found",
  "request_too_large",
  "token_budget_exceeded",
  "request_blocked",
  "response_blocked",
];
const inOrder = Object.entries(TABLE).toSorted(([a], [b]) => Number(MAIN.includes(b)) - Number(MAIN.includes(a)));

const TELLING = ["x-should-retry", "www-authenticate", "retry-after", "retry-after-ms"];
describe("an error of the data plane", () => {
  mainRows(MAIN.length)(inOrder)("%s", async (code, { status, message, type, param, headers, row, by }) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const response = await by(minted);
    const error = { message, type, code, param: param ?? null };
    expect({ status: response.status, body: await response.json() }).toEqual({ status, body: { error } });
    const told = response.headers;
    expect(told.get("content-type")).toContain("application/json");
    const present = TELLING.filter((name) => told.has(name)).map((name) => [name, told.get(name)]);
    expect(Object.fromEntries(present)).toEqual(headers ?? {});
    const requestId = told.get("x-gateway-request-id");
    expect(told.get("x-request-id")).toBe(requestId);
    expect(told.get("x-gateway-overhead-ms")).toMatch(/^\d+$/);
    if (row === null) return;
    expect(await fixture.gateway.row(minted.tenant.id, requestId)).toMatchObject({
      key_id: minted.key.id,
      model: minted.model.model_name,
      request_type: "chat",
      session_id: minted.mark,
      session_id_source: "client",
      admission: "rejected",
      cache_status: "off",
      status_code: status,
      total_tokens: 0,
      cost_usd: 0,
      ttft_ms: 0,
      ...row,
    });
  });

  it.each(Object.entries(ELSEWHERE))("%s is tested where it can be raised", (code, path) => {
    expect(ERROR_TABLE).toHaveProperty(code);
    expect(readFileSync(join(import.meta.dirname, "../..", path), "utf8")).toContain(`"${code}"`);
  });

  it("is in one of the tables", () => {
    const codes = Object.keys(ERROR_TABLE);
    const known = [...Object.keys(TABLE), ...Object.keys(ELSEWHERE)];
    expect(known.toSorted()).toEqual(codes.slice(0, codes.indexOf("upstream_timeout") + 1).toSorted());
  });
});
