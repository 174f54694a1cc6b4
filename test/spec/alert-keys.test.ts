/**
 * Every alert of the gateway (docs/rules/alerts.md#issues-and-texts, test/harness/alert-keys.ts) from its real
 * condition to the operators' channel, on a stack of its own, because some conditions take the whole key-value store
 * away. All conditions are caused at once; each test then waits for one alert.
 *
 * @module-tag long
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import type { Stack } from "../../infra/local/stack.ts";
import type { AlertKey } from "../../shared/catalogues/alerts.ts";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import { ALERT_KEYS, ALERTS_SPEC } from "../harness/alert-keys.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { type HttpSink, startHttpSink } from "../harness/http-sink.ts";
import { blockObject } from "../harness/object-faults.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

/** An address where no server listens. */
const NOWHERE = "http://127.0.0.1:9";
/** A part of every secret that an operator of this stack saves. */
const PLANTED = `planted${randomUUID().replaceAll("-", "")}`;

interface Message {
  readonly title: string;
  readonly issue: string;
  readonly detail: string;
}

let stack: Stack;
let upstream: TestUpstream;
/** The operators' chat channel. */
let chat: HttpSink;
let bridge: Awaited<ReturnType<typeof startRedisBridge>>;
let gateway: Gateway;
const log: string[] = [];
/** The tenant, model or server that an alert is about. */
const about = new Map<AlertKey, string>();

/** The messages that the operators have got so far. */
function messages(): readonly Message[] {
  return chat.asked.map(({ body }) => {
    const { text } = JSON.parse(body) as { text: string };
    const [, title = "", issue = "", detail = ""] =
      /^\*Gateway alert: (.*)\*\n\*Issue:\* `(.*)`\n(.*)\nSeverity: \w+\nRunbook: docs\/reference\/alerts\.md#\w+$/.exec(
        text,
      ) ?? [];
    return { title, issue, detail };
  });
}

async function read(work: Promise<Response>): Promise<Response> {
  const response = await work;
  await response.text().catch(() => undefined);
  return response;
}

beforeAll(async () => {
  upstream = await startTestUpstream();
  chat = await startHttpSink();
  bridge = await startRedisBridge({ backend: memoryBackend(), token: "token" });
  stack = await startTestStack(
    { GATEWAY_REDIS_URL: bridge.url, GATEWAY_REDIS_TOKEN: "token" },
    { log: (line) => log.push(line) },
  );
  gateway = new Gateway(stack);
  await savedSecrets();
  await unsettled();
  await endingTenant();
  await Promise.all([failingUpstreams(), failingServers(), spentBudgets(), downModel(), powerNowhere()]);
  await gateway.must("POST", "/settings/alerts/test");
  await waitFor(messages, (sent) => sent.some(({ issue }) => issue.startsWith("tenant_expiry:")));
  await storeAway();
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([upstream.close(), chat.close(), bridge.close()]);
});

/** Saves channels, one of which works, and the address of a scheduler that does not exist. */
async function savedSecrets(): Promise<void> {
  const address = { from_address: "gateway@example.org", recipients: ["ops@example.org"] };
  const email = { smtp_host: "127.0.0.1", smtp_port: 9, username: PLANTED, smtp_password: PLANTED, ...address };
  await gateway.must("PUT", "/settings/alerts", { slack_webhook_url: `${chat.url}/${PLANTED}`, email });
  await gateway.must("PUT", "/settings/jobsched", { url: `${NOWHERE}/${PLANTED}`, user: "u", token: PLANTED });
  await gateway.must("POST", "/settings/jobsched/test");
  const stranger = { headers: { authorization: `Bearer ${PLANTED}` } };
  expect((await read(fetch(`${stack.adminUrl}/api/v1/tenants?token=${PLANTED}`, stranger))).status).toBe(401);
}

/** A request that is served while its usage cannot be settled; the alert comes after 30 s. */
async function unsettled(): Promise<void> {
  const minted = await gateway.mint(upstream.url);
  blockObject(stack.dataDir, "TenantBudget", minted.tenant.id);
  await gateway.must("PUT", `/tenants/${minted.tenant.id}/quota`, { tokens_per_minute: 1_000_000 });
  await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { budget_tokens: 1_000_000 });
  await gateway.must("PUT", `/keys/${minted.key.id}`, { budget_tokens: 1_000_000 });
  expect((await read(gateway.chat(minted))).status).toBe(200);
}

async function failingUpstreams(): Promise<void> {
  const away = await gateway.mint(`${NOWHERE}/v1`, "plain", { api_key: PLANTED });
  const failing = await gateway.mint(upstream.url, "status=503");
  const breaking = await gateway.mint(upstream.url, "cut,chunks=9,pace=5");
  about.set("upstream_request_failed", away.model.model_name);
  about.set("upstream_5xx_response", failing.model.model_name);
  about.set("upstream_stream_error", breaking.model.model_name);
  for (let failures = 0; failures < 3; failures += 1) {
    expect((await read(gateway.chat(away))).status).toBe(502);
    expect((await read(gateway.chat(failing))).status).toBe(502);
    expect((await read(gateway.chat(breaking, { stream: true }))).status).toBe(200);
  }
}

async function callServer(name: string, { secret }: Minted): Promise<number> {
  const init = { method: "POST", headers: { authorization: `Bearer ${secret}` }, body: "{}" };
  return (await read(fetch(`${gateway.proxyUrl}/mcp/${name}`, init))).status;
}

async function failingServers(): Promise<void> {
  const minted = await gateway.mint(upstream.url);
  const server = await startHttpSink();
  server.answer = () => ({ status: 500 });
  for (const [name, upstream_url, status] of [
    ["away", NOWHERE, 502],
    ["failing", server.url, 500],
  ] as const) {
    await gateway.must<McpServer>("POST", "/mcp-servers", { name, upstream_url, auth_header: `Bearer ${PLANTED}` });
    expect(await callServer(name, minted)).toBe(status);
  }
  about.set("mcp_upstream_request_failed", "away").set("mcp_upstream_5xx_response", "failing");
  await server.close();
}

/** Each request uses 33 tokens: the first request uses more than four fifths of the 40, the second more than all. */
async function spentBudgets(): Promise<void> {
  const tenant = await gateway.mint(upstream.url);
  await gateway.must("PATCH", `/tenants/${tenant.tenant.id}/budget`, { budget_tokens: 40 });
  const key = await gateway.mint(upstream.url);
  await gateway.must("PUT", `/keys/${key.key.id}`, { budget_tokens: 40 });
  about.set("term_budget_warn", tenant.tenant.id).set("term_budget_exhausted", tenant.tenant.id);
  about.set("key_term_budget_warn", key.key.id).set("key_term_budget_exhausted", key.key.id);
  const statusOf = async (minted: Minted): Promise<number> =>
    (await read(gateway.chat(minted, { body: { max_tokens: 1 } }))).status;
  for (const [minted, path] of [
    [tenant, `/tenants/${tenant.tenant.id}`],
    [key, `/keys/${key.key.id}`],
  ] as const) {
    // Each is settled before the next one, which would else be admitted beside it.
    for (const used of [33, 66]) {
      expect(await statusOf(minted)).toBe(200);
      await waitFor(
        async () => await gateway.must<BudgetUsage>("GET", `${path}/budget/usage`),
        ({ used_tokens, reserved_tokens }) => used_tokens === used && reserved_tokens === 0,
      );
    }
    expect(await statusOf(minted)).toBe(403);
  }
}

async function downModel(): Promise<void> {
  const server = await startHttpSink();
  server.answer = () => ({ status: 401 });
  const health = { failure_threshold: 1 };
  const { model } = await gateway.mint(server.url, "checked", { health });
  about.set("model_health_down", model.model_name).set("model_health_recovery", model.model_name);
  await gateway.must("POST", `/models/${model.id}/health/check`);
  const answer = { choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }] };
  server.answer = () => ({ body: JSON.stringify(answer), headers: { "content-type": "application/json" } });
  await gateway.must("POST", `/models/${model.id}/health/check`);
  await server.close();
}

async function powerNowhere(): Promise<void> {
  await gateway.must("PUT", "/settings/energy", { enabled: true, prometheus_url: NOWHERE, power_query: "watts" });
}

/** Checked every hour, and soon after a start; each replica asks the store which one reports it. */
async function endingTenant(): Promise<void> {
  const { tenant } = await gateway.mint(upstream.url);
  about.set("tenant_expiry", tenant.id);
  const active_until = new Date(Date.now() + 3_600_000).toISOString();
  await gateway.must("PATCH", `/tenants/${tenant.id}/schedule`, { active_until });
  const control = stack.parts.get("control");
  const killed = control?.pid ?? 0;
  process.kill(killed, "SIGKILL");
  await startedAgain(control, killed);
}

/** Requests a record that the Worker has in memory, and one that it does not have. */
async function storeAway(): Promise<void> {
  const minted = await gateway.mint(upstream.url, "plain", { cache_enabled: true });
  expect((await read(gateway.chat(minted))).status).toBe(200);
  await bridge.close();
  const stranger = { ...minted, secret: `sk_${randomUUID().replaceAll("-", "").repeat(2).slice(0, 48)}` };
  // Another question than before, because the answer to that one is in memory.
  expect((await read(gateway.chat(minted, { body: { max_tokens: 7 } }))).status).toBe(200);
  expect((await read(gateway.chat(stranger))).status).toBe(503);
  expect((await read(gateway.chat(minted, { body: { model: "another" } }))).status).toBe(503);
  expect(await callServer("another", minted)).toBe(503);
}

const BUDGET = "the budget object does not answer; request was already served";
const LOOKUP = "served from memory where possible, else rejected";

/** Title and detail of each alert, as docs/rules/alerts.md#issues-and-texts words them. */
const EXPECTED = {
  upstream_request_failed: [
    "Upstream request failed",
    /^model-mark-\S+: .+ after \d+ attempts on 1 endpoints \(2 repeats suppressed\)$/,
  ],
  upstream_5xx_response: [
    "Upstream error response",
    /^model-mark-\S+: upstream answered 503 \(2 repeats suppressed\)$/,
  ],
  upstream_stream_error: [
    "Upstream stream interrupted",
    /^model-mark-\S+: connection broke after \d+ bytes \(2 repeats suppressed\)$/,
  ],
  term_budget_warn: [
    "Tenant budget at 80 percent",
    /^"mark-\S+": 33 of 40 tokens \(lifetime\); 33 a day, runs out on \d{4}-\d\d-\d\d at this rate$/,
  ],
  term_budget_exhausted: ["Tenant budget exhausted", /^"mark-\S+": 66 of 40 tokens \(lifetime\)$/],
  key_term_budget_warn: [
    "API key budget at 80 percent",
    /^"(mark-\S+)", key "key of \1": 33 of 40 tokens \(lifetime\); 33 a day, runs out on \d{4}-\d\d-\d\d at this rate$/,
  ],
  key_term_budget_exhausted: [
    "API key budget exhausted",
    /^"(mark-\S+)", key "key of \1": 66 of 40 tokens \(lifetime\)$/,
  ],
  tenant_expiry: ["Tenant access ends soon", /^"mark-\S+": access ends at \S+Z$/],
  model_health_down: ["Model down", /^model-mark-\S+: 1 consecutive failures, last: .+$/],
  model_health_recovery: ["Model recovered", /^model-mark-\S+ is healthy again after .+$/],
  energy_power_poll_failed: ["Power query failed", /^connect failed; /],
  mcp_upstream_request_failed: ["MCP server failed", /^away: connection failed$/],
  mcp_upstream_5xx_response: ["MCP server failed", /^failing: answered 500$/],
  redis_key_lookup_failed: ["Key-value store lookup failed", new RegExp(`^api key: .+; ${LOOKUP}$`)],
  redis_model_lookup_failed: ["Key-value store lookup failed", new RegExp(`^model: .+; ${LOOKUP}$`)],
  redis_mcp_lookup_failed: ["Key-value store lookup failed", new RegExp(`^mcp server: .+; ${LOOKUP}$`)],
  redis_cache_lookup_failed: ["Response cache failed", /; request admitted \(fail-open\)$/],
  redis_cache_store_failed: ["Response cache failed", /; request admitted \(fail-open\)$/],
  redis_budget_reconcile_failed: ["Budget settlement failed", BUDGET],
  redis_term_usage_failed: ["Budget settlement failed", BUDGET],
  redis_key_term_usage_failed: ["Budget settlement failed", BUDGET],
  test_alert: ["Test alert", "This is a test alert from the gateway."],
} satisfies Partial<Record<AlertKey, readonly [title: string, detail: string | RegExp]>>;

describe("the operators get an alert for", () => {
  const arrives = async (key: string, [title, detail]: readonly [string, string | RegExp]): Promise<void> => {
    const whom = about.get(key as AlertKey);
    const issue = whom === undefined ? key : `${key}:${whom}`;
    const alerts = await waitFor(
      () => messages().filter((message) => message.issue === issue),
      (found) => found.length > 0,
    );
    expect(alerts).toEqual([{ title, issue, detail: expect.stringMatching(detail) }]);
    expect(alerts[0]?.detail.length).toBeLessThanOrEqual(500);
  };
  it.each(Object.entries(EXPECTED))("%s", arrives);
});

it("every alert that the table assigns to this file is caused here", () => {
  const here = Object.entries(ALERT_KEYS).filter(([, file]) => file === ALERTS_SPEC);
  expect(Object.keys(EXPECTED).toSorted()).toEqual(here.map(([key]) => key).toSorted());
});

it("the runs of the jobs that reported them are lines of the log, with what they did", () => {
  const runs = log
    .filter((line) => line.startsWith("control | {") && line.includes('"event":"job_run"'))
    .map((line) => JSON.parse(line.slice("control | ".length)) as Readonly<Record<string, unknown>>);
  const of = (job: string) => runs.filter((run) => run["job"] === job && run["outcome"] === "ok");
  const told = { replica: "embedded", told: 1, duration_ms: expect.any(Number) };
  expect(of("tenant_expiry")).toContainEqual(expect.objectContaining(told));
  expect(of("alerts").some((run) => Number(run["alerts"]) > 0)).toBe(true);
  expect(of("alerts").some((run) => run["alerts"] === 0)).toBe(false);
  expect(of("alert_messages").some((run) => Number(run["sent"]) > 0)).toBe(true);
});

it("no log contains a secret that an operator saved, whatever failed", () => {
  const text = log.join("\n");
  expect(text).toContain('"event":"alert_not_sent","channel":"email"');
  for (const secret of [PLANTED, chat.url, stack.adminToken, stack.internalToken]) expect(text).not.toContain(secret);
});
