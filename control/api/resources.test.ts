import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";
import { userCredential } from "./guard.ts";

let control: TestControl;
let nextName = 0;
function name(): string {
  nextName += 1;
  return `name-${nextName}`;
}

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

async function json(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

describe("tenants", () => {
  it("are created with the documented defaults", async () => {
    const tenant = await json(await control.request("POST", "/api/v1/tenants", { name: "  defaults  " }));
    expect(tenant).toMatchObject({
      name: "defaults",
      description: "",
      timezone: "UTC",
      weight: 100,
      tokens_per_minute: 0,
      requests_per_minute: 0,
      max_in_flight: null,
      fairshare_group: "default",
      status: "active",
      weekly_windows: [],
      budget_tokens: null,
      budget_period: null,
      end_user_budget_tokens: null,
      end_user_budget_cost_usd: null,
      end_user_budget_period: null,
      allowed_models: null,
      guardrails_policy: null,
      tracing_enabled: false,
      synthetic: false,
    });
    expect(await json(await control.request("GET", `/api/v1/tenants/${String(tenant["id"])}`))).toEqual(tenant);
  });

  it.each([
    [{}, "name"],
    [{ name: " " }, "name"],
    [{ name: "x".repeat(201) }, "name"],
    [{ name: "n", weight: 0 }, "weight"],
    [{ name: "n", weight: 1.5 }, "weight"],
    [{ name: "n", weight: 1_000_001 }, "weight"],
    [{ name: "n", tokens_per_minute: -1 }, "tokens_per_minute"],
    [{ name: "n", requests_per_minute: 0.5 }, "requests_per_minute"],
    [{ name: "n", max_in_flight: 0 }, "max_in_flight"],
    [{ name: "n", timezone: "Mars/Olympus" }, "timezone"],
    [{ name: "n", synthetic: "yes" }, "synthetic"],
    [{ name: "n", end_user_budget_tokens: -1 }, "end_user_budget_tokens"],
    [{ name: "n", end_user_budget_period: "weekly" }, "end_user_budget_period"],
    [{ name: "n", contact: "x".repeat(321) }, "contact"],
  ])("refuse %j by naming %s, and change nothing", async (body, field) => {
    const before = await (await control.request("GET", "/api/v1/tenants?limit=1000")).text();
    const response = await control.request("POST", "/api/v1/tenants", body);
    expect({ status: response.status, body: await json(response) }).toMatchObject({
      status: 400,
      body: { error: { code: "validation_failed", param: field, details: [{ path: field }] } },
    });
    expect(await (await control.request("GET", "/api/v1/tenants?limit=1000")).text()).toBe(before);
  });

  it("have unique names and existing groups", async () => {
    const body = { name: name() };
    await control.request("POST", "/api/v1/tenants", body);
    const twice = await control.request("POST", "/api/v1/tenants", body);
    expect({ status: twice.status, body: await json(twice) }).toMatchObject({
      status: 409,
      body: { error: { code: "already_exists", message: `tenant '${body.name}' already exists`, param: "name" } },
    });
    const group = await control.request("POST", "/api/v1/tenants", { name: name(), fairshare_group: "nowhere" });
    expect(await json(group)).toMatchObject({
      error: { code: "unknown_fairshare_group", message: "fairshare group 'nowhere' does not exist" },
    });
  });

  it("take any status after any, lower-cased", async () => {
    const { id } = await json(await control.request("POST", "/api/v1/tenants", { name: name() }));
    for (const status of ["Suspended", "ARCHIVED", "active", "active"]) {
      const response = await control.request("PATCH", `/api/v1/tenants/${String(id)}/status`, { status });
      expect({ status: response.status, tenantStatus: (await json(response))["status"] }).toEqual({
        status: 200,
        tenantStatus: status.toLowerCase(),
      });
    }
    const wrong = await control.request("PATCH", `/api/v1/tenants/${String(id)}/status`, { status: "gone" });
    expect(await json(wrong)).toMatchObject({
      error: { param: "status", details: [{ message: "must be one of active, suspended, archived" }] },
    });
  });
});

describe("lists", () => {
  it("are paged by the link header, without losing or doubling a row", async () => {
    for (let count = 0; count < 5; count += 1) await control.request("POST", "/api/v1/tenants", { name: name() });
    const all = (await (await control.request("GET", "/api/v1/tenants?limit=1000")).json()) as { id: string }[];
    const seen: string[] = [];
    let path: string | undefined = "/api/v1/tenants?limit=2";
    while (path !== undefined) {
      const response: Response = await control.request("GET", path);
      seen.push(...((await response.json()) as { id: string }[]).map((row) => row.id));
      path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1];
    }
    expect(seen).toEqual(all.map((row) => row.id));
  });

  it.each([
    ["limit=0", "limit"],
    ["limit=x", "limit"],
    ["cursor=nonsense", "cursor"],
  ])("refuse ?%s", async (query, field) => {
    const response = await control.request("GET", `/api/v1/tenants?${query}`);
    expect({ status: response.status, body: await json(response) }).toMatchObject({
      status: 400,
      body: { error: { param: field } },
    });
  });
});

describe("keys", () => {
  it("show their secret once, and never their hash", async () => {
    const { id } = await json(await control.request("POST", "/api/v1/tenants", { name: name() }));
    const created = await json(
      await control.request("POST", `/api/v1/tenants/${String(id)}/keys`, {
        name: "k",
        budget_tokens: 5,
        budget_period: "Monthly",
      }),
    );
    const secret = String(created["secret"]);
    expect(secret).toMatch(/^sk_[0-9a-f]{48}$/);
    expect(created["key"]).toMatchObject({
      tenant_id: id,
      name: "k",
      key_prefix: secret.slice(0, 18),
      disabled: false,
      budget_tokens: 5,
      budget_period: "monthly",
    });
    expect((created["key"] as Record<string, unknown>)["budget_started_at"]).not.toBeNull();
    const listed = await (await control.request("GET", `/api/v1/tenants/${String(id)}/keys`)).text();
    expect(listed).not.toContain(secret);
    expect(listed).not.toContain("key_hash");
  });
});

describe("models", () => {
  it("keep what an update omits, and their name for ever", async () => {
    const model_name = name();
    const created = await json(
      await control.request("POST", "/api/v1/models", {
        model_name,
        api_key: "k",
        tags: ["Fast", "fast ", ""],
        input_cost_per_token: 0.5,
        max_in_flight: 3,
      }),
    );
    expect(created).toMatchObject({
      upstream_model: model_name,
      api_key_set: true,
      tags: ["fast"],
      context_window: 8192,
      cache_ttl_secs: 300,
      health_status: "unknown",
    });
    const path = `/api/v1/models/${String(created["id"])}`;
    const updated = await json(
      await control.request("PUT", path, {
        upstream_model: "u",
        api_base: "http://127.0.0.1:9/v1/",
        max_in_flight: null,
        api_key: null,
      }),
    );
    expect(updated).toMatchObject({
      upstream_model: "u",
      api_base: "http://127.0.0.1:9/v1",
      input_cost_per_token: 0.5,
      max_in_flight: null,
      api_key_set: true,
    });
    expect(
      await json(await control.request("PUT", path, { upstream_model: "u", api_base: "", api_key: "" })),
    ).toMatchObject({ api_key_set: false });
    const renamed = await control.request("PUT", path, { upstream_model: "u", api_base: "", model_name: "other" });
    expect({ status: renamed.status, body: await json(renamed) }).toMatchObject({
      status: 400,
      body: { error: { param: "model_name" } },
    });
  });

  it.each([
    [{}, "model_name"],
    [{ model_name: "auto" }, "model_name"],
    [{ model_name: "m", model_type: "video" }, "model_type"],
    [{ model_name: "m", input_cost_per_token: -1 }, "input_cost_per_token"],
    [{ model_name: "m", cached_input_cost_per_token: -1 }, "cached_input_cost_per_token"],
    [{ model_name: "m", reasoning_output_cost_per_token: "1" }, "reasoning_output_cost_per_token"],
    [{ model_name: "m", cache_write_cost_per_token: -1 }, "cache_write_cost_per_token"],
    [{ model_name: "m", image_output_cost_per_token: "1" }, "image_output_cost_per_token"],
    [{ model_name: "m", boons: ["magic"] }, "boons.0"],
    [{ model_name: "m", cache_enabled: true, cache_ttl_secs: 0 }, "cache_ttl_secs"],
    [{ model_name: "m", max_retries: 11 }, "max_retries"],
    [{ model_name: "m", api_base: "ftp://host/v1" }, "api_base"],
    [{ model_name: "m", api_base: "http://user:pass@host/v1" }, "api_base"],
    [{ model_name: "m", api_base: "http://host/v1?x=1" }, "api_base"],
    [{ model_name: "m", api_base: "http://host/v1#" }, "api_base"],
    [{ model_name: "m", api_base: "http://169.254.169.254/v1" }, "api_base"],
    [{ model_name: "m", health: { failure_threshold: "two" } }, "health.failure_threshold"],
  ])("refuse %j by naming %s", async (body, field) => {
    const response = await control.request("POST", "/api/v1/models", body);
    expect({ status: response.status, body: await json(response) }).toMatchObject({
      status: 400,
      body: { error: { param: field } },
    });
  });
});

describe("an idempotency key", () => {
  it("replays the answer, secret included, and refuses another body", { tags: ["check"] }, async () => {
    const { id } = await json(await control.request("POST", "/api/v1/tenants", { name: name() }));
    const path = `/api/v1/tenants/${String(id)}/keys`;
    const headers = { "idempotency-key": "once" };
    const first = await control.request("POST", path, { name: "k" }, headers);
    const again = await control.request("POST", path, { name: "k" }, headers);
    expect(await again.json()).toEqual(await first.json());
    expect({
      firstReplayed: first.headers.get("idempotency-replayed"),
      againReplayed: again.headers.get("idempotency-replayed"),
    }).toEqual({ firstReplayed: null, againReplayed: "true" });
    const other = await control.request("POST", path, { name: "other" }, headers);
    expect({ status: other.status, body: await json(other) }).toMatchObject({
      status: 409,
      body: { error: { code: "idempotency_key_reuse" } },
    });
    expect((await (await control.request("GET", path)).json()) as unknown[]).toHaveLength(1);
  });

  it("replays nothing to somebody else, nor to a user what an admin has sent", { tags: ["check"] }, async () => {
    const { id } = await json(await control.request("POST", "/api/v1/tenants", { name: name() }));
    const secretFor = async (caller: Readonly<Record<string, string>>) => {
      const headers = { "idempotency-key": "create-1", ...caller };
      const made = await control.request("POST", `/api/v1/tenants/${String(id)}/keys`, { name: "k" }, headers);
      return (await json(made))["secret"];
    };
    const ann = { "x-gateway-audit-actor": "ann@example.org" };
    const user = { authorization: userCredential(String(id), ADMIN_TOKEN) };
    const callers = [ann, { ...ann, ...user }, { "x-gateway-audit-actor": "bob@example.org", ...user }];
    const secrets = new Set([...(await Promise.all(callers.map(secretFor))), await secretFor({ ...ann, ...user })]);
    expect(secrets.size).toBe(callers.length);
  });

  it("is that of the person for whom a server asks, whatever the name", { tags: ["check"] }, async () => {
    const { id } = await json(await control.request("POST", "/api/v1/tenants", { name: name() }));
    const answerFor = async (actor: string, person: string) => {
      const caller = { "x-gateway-audit-actor": actor, "x-gateway-audit-person": person };
      const headers = { "idempotency-key": "create-1", ...caller };
      return await control.request("POST", `/api/v1/tenants/${String(id)}/keys`, { name: "k" }, headers);
    };
    const secretFor = async (actor: string, person: string) => (await json(await answerFor(actor, person)))["secret"];
    const [ann, another] = [randomUUID(), randomUUID()];
    const first = await secretFor("ann@example.org", ann);
    const renamed = await secretFor("ann.b@example.org", ann.toUpperCase());
    const others = await secretFor("ann@example.org", another);
    expect({ renamed: renamed === first, others: others === first }).toEqual({ renamed: true, others: false });
    const refused = await answerFor("ann@example.org", "ann");
    expect({ status: refused.status, body: await json(refused) }).toMatchObject({
      status: 400,
      body: { error: { param: "x-gateway-audit-person" } },
    });
  });

  it("is free again after a failed first call, and bounded in length", { tags: ["check"] }, async () => {
    const headers = { "idempotency-key": "retry" };
    expect((await control.request("POST", "/api/v1/tenants", { name: "" }, headers)).status).toBe(400);
    expect((await control.request("POST", "/api/v1/tenants", { name: name() }, headers)).status).toBe(200);
    expect(
      (await control.request("POST", "/api/v1/tenants", { name: name() }, { "idempotency-key": "x".repeat(256) }))
        .status,
    ).toBe(400);
  });
});

describe("a store that is down", () => {
  it("is 503 for usage and 502 for a cell, with nothing of its own said", { tags: ["check"] }, async () => {
    const usage = await control.request("GET", "/api/v1/usage/logs");
    expect({ status: usage.status, body: await json(usage) }).toEqual({
      status: 503,
      body: {
        error: {
          message: "analytics store unavailable",
          type: "server_error",
          code: "analytics_unavailable",
          param: null,
        },
      },
    });
    expect((await control.request("GET", "/api/v1/stats?cell=nowhere")).status).toBe(404);
  });

  it("leaves the overview its zeros, and what is configured", { tags: ["check"] }, async () => {
    const response = await control.request("GET", "/api/v1/overview/summary");
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 200,
      body: { requests: 0, tokens: 0, cost: 0, tenant_count: expect.any(Number), key_count: expect.any(Number) },
    });
  });

  it.each(["tenant_id=x", "since_ms=-1", "limit=0", "status=odd", "request_id=zz", "before_ms=5", "request_type=odd"])(
    "comes after the query ?%s is refused",
    async (query) => {
      const response = await control.request("GET", `/api/v1/usage/logs?${query}`);
      expect({ status: response.status, body: await json(response) }).toMatchObject({
        status: 400,
        body: { error: { code: "validation_failed" } },
      });
    },
  );
});
