/**
 * What a person has to act on now (docs/rules/attention.md), with the real database and cells that a test answers for.
 *
 * @module-tag check
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CreatedKey } from "../../../shared/schema/api-key.ts";
import type { AttentionItem } from "../../../shared/schema/attention.ts";
import type { Model } from "../../../shared/schema/model.ts";
import type { ModelEndpoint } from "../../../shared/schema/model-endpoint.ts";
import type { Tenant } from "../../../shared/schema/tenant.ts";
import { INTERNAL_PATHS } from "../../../shared/wire/internal.ts";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { outbox } from "../../db/schema/journal.ts";
import { modelHealth, models } from "../../db/schema/models.ts";
import { apiKeys, tenants } from "../../db/schema/tenancy.ts";
import { users } from "../../db/schema/users.ts";
import { Cells } from "../../kernel/cells/cells.ts";
import { alertLog } from "../tables.ts";
import { getAttention } from "./get-attention.ts";

const NOW_MS = Date.parse("2026-11-21T08:00:00.000Z");
const HOUR_MS = 3_600_000;
const iso = (ms: number): string => new Date(ms).toISOString();
const EARLIER = new Date(NOW_MS - HOUR_MS);
const WITHOUT_ALERT = { severity: "warning", alert_key: null, muted_until: null };

let control: TestControl;
let server: Server;
let cells: Cells;
/** What the cell says of its gauges, and of the budget of each subject by its id. */
const gauges: Record<string, number> = {};
const budgets: Record<string, object> = {};

const UNUSED = {
  budget_period: "monthly",
  period_start_ms: NOW_MS - HOUR_MS,
  period_end_ms: NOW_MS + HOUR_MS,
  budget_tokens: 100,
  budget_cost_usd: null,
  used_tokens: 0,
  used_cost_usd: 0,
  reserved_tokens: 0,
  reserved_cost_usd: 0,
  remaining_tokens: 100,
  remaining_cost_usd: null,
  ratio: 0,
  state: "ok",
};

beforeAll(async () => {
  control = await startControl({ now: () => new Date(NOW_MS) });
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on("end", () => {
      response.writeHead(200, { connection: "close" }).end(JSON.stringify(answerTo(request.url, text)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cells = new Cells([{ cell: "local", url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }], "internal");
});
afterAll(async () => {
  await control.close();
  await new Promise((resolve) => server.close(resolve));
});

function answerTo(url: string | undefined, text: string): object {
  if (url === INTERNAL_PATHS.budgetUsage) {
    const { tenant, key } = JSON.parse(text) as { tenant: { id: string }; key: { key_id: string } | null };
    return { ...UNUSED, ...budgets[key?.key_id ?? tenant.id] };
  }
  const families = Object.entries(gauges).map(([name, value]) => ({
    name,
    help: "",
    type: "gauge",
    samples: [{ suffix: "", labels: {}, value }],
  }));
  return { cell: "local", families };
}

async function attention(from = cells): Promise<readonly AttentionItem[]> {
  return await getAttention(control.ctx, { cells: from, own: "local" }, control.store);
}

async function made<T>(path: string, body: object): Promise<T> {
  const answer = await control.request("POST", `/api/v1${path}`, body);
  expect(answer.status).toBeLessThan(300);
  return (await answer.json()) as T;
}

/** The alert that a budget has passed a level, a while ago. */
async function passed(issue_key: string): Promise<void> {
  const at = EARLIER.getTime();
  await control.connection.db.insert(alertLog).values({
    issue_key,
    title: "Tenant budget at 80 percent",
    detail: "research",
    began_at_ms: at,
    last_at_ms: at,
    times: 1,
    firing_since_ms: at,
    firing_times: 1,
  });
}

describe("attention", () => {
  it("is asked for nothing in a gateway where nothing is wrong", async () => {
    expect(await attention()).toEqual([]);
  });

  it("is asked for models and endpoints that are down, unless they are off or being worked on", async () => {
    const { db } = control.connection;
    const [down, off, busy] = await Promise.all(
      ["down", "off", "busy"].map(
        async (model_name) => await made<Model>("/models", { model_name, api_base: "http://127.0.0.1:9/v1" }),
      ),
    );
    const sick = { consecutive_failures: 3, last_message: "http 500", failing_since: EARLIER };
    for (const model of [down, off, busy])
      await db
        .update(modelHealth)
        .set({ status: "unhealthy", ...sick })
        .where(eq(modelHealth.model_id, model?.id ?? ""));
    const endpoint = await made<ModelEndpoint>(`/models/${down?.id ?? ""}/endpoints`, {
      name: "second",
      api_base: "http://127.0.0.1:9/v1",
    });
    await db
      .update(modelEndpoints)
      .set({ health_status: "unhealthy", ...sick })
      .where(eq(modelEndpoints.id, endpoint.id));
    const working = { health_maintenance_until: new Date(NOW_MS + HOUR_MS) };
    await db
      .update(models)
      .set({ enabled: false })
      .where(eq(models.id, off?.id ?? ""));
    await db
      .update(models)
      .set(working)
      .where(eq(models.id, busy?.id ?? ""));
    const detail = "3 consecutive failures, last: http 500";
    const since = EARLIER.toISOString();
    expect(await attention()).toEqual([
      {
        kind: "model_down",
        entity_type: "model",
        entity_id: down?.id,
        name: "down",
        detail,
        since,
        severity: "critical",
        alert_key: "model_health_down:down",
        muted_until: null,
      },
      {
        ...WITHOUT_ALERT,
        kind: "endpoint_down",
        entity_type: "model_endpoint",
        entity_id: endpoint.id,
        name: "down: second",
        detail,
        since,
      },
    ]);
    await db.update(modelHealth).set({ status: "healthy" });
    await db.update(modelEndpoints).set({ health_status: "healthy" });
  });

  it("is asked for budgets as they stand now, and for tenants whose access ends soon", async () => {
    const full = await made<Tenant>("/tenants", { name: "full" });
    const reset = await made<Tenant>("/tenants", { name: "reset" });
    for (const [{ id }, hours] of [
      [full, 1],
      [reset, 100],
    ] as const)
      await control.connection.db
        .update(tenants)
        .set({ active_until: new Date(NOW_MS + hours * HOUR_MS) })
        .where(eq(tenants.id, id));
    const { key } = await made<CreatedKey>(`/tenants/${reset.id}/keys`, { name: "nightly" });
    for (const issue of [
      `term_budget_warn:${full.id}`,
      `term_budget_exhausted:${full.id}`,
      `term_budget_warn:${reset.id}`,
      `key_term_budget_warn:${key.id}`,
      "term_budget_warn:7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e",
      "termXbudget_warn:no",
    ])
      await passed(issue);
    budgets[full.id] = { ratio: 1.2, state: "exhausted" };
    budgets[key.id] = { ratio: 0.8499, state: "warned", budget_period: "lifetime", period_end_ms: null };
    const found = await attention();
    expect(found.map(({ kind, name, detail, since }) => [kind, name, detail, since])).toEqual([
      ["budget_exhausted", "full", `120 percent used (monthly), until ${iso(NOW_MS + HOUR_MS)}`, EARLIER.toISOString()],
      ["tenant_expires", "full", `access ends at ${iso(NOW_MS + HOUR_MS)}`, null],
      ["budget_low", "reset: nightly", "84 percent used (lifetime)", EARLIER.toISOString()],
    ]);
    await control.connection.db.delete(alertLog);
    await control.request("PATCH", `/api/v1/tenants/${full.id}/status`, { status: "archived" });
  });

  it("names keys in use that expire within 72 hours", async () => {
    const active = await made<Tenant>("/tenants", { name: "with-keys" });
    const archived = await made<Tenant>("/tenants", { name: "archived" });
    const expiring = async (tenant: Tenant, name: string, hours: number): Promise<string> => {
      const { key } = await made<CreatedKey>(`/tenants/${tenant.id}/keys`, { name });
      const expires_at = new Date(NOW_MS + hours * HOUR_MS);
      await control.connection.db.update(apiKeys).set({ expires_at }).where(eq(apiKeys.id, key.id));
      return key.id;
    };
    const soon = await expiring(active, "soon", 72);
    await expiring(active, "later", 73);
    await expiring(active, "gone", -1);
    await expiring(archived, "of another", 1);
    const off = await expiring(active, "off", 1);
    await control.request("PUT", `/api/v1/keys/${off}/disabled`, { disabled: true });
    await control.request("PATCH", `/api/v1/tenants/${archived.id}/status`, { status: "archived" });
    expect(await attention()).toEqual([
      {
        ...WITHOUT_ALERT,
        kind: "key_expires",
        entity_type: "api_key",
        entity_id: soon,
        name: "with-keys: soon",
        detail: `expires at ${iso(NOW_MS + 72 * HOUR_MS)}`,
        since: null,
      },
    ]);
    await control.request("DELETE", `/api/v1/tenants/${active.id}`);
  });

  it("is asked once for many keys of a tenant, which hide nobody else", async () => {
    const { db } = control.connection;
    const [many, few] = [
      await made<Tenant>("/tenants", { name: "many" }),
      await made<Tenant>("/tenants", { name: "few" }),
    ];
    const keysOf = async (tenant: Tenant, count: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let at = 0; at < count; at += 1) {
        const { key } = await made<CreatedKey>(`/tenants/${tenant.id}/keys`, { name: `k${at}`, budget_tokens: 100 });
        const expires_at = new Date(NOW_MS + (at + 1) * 60_000);
        await db.update(apiKeys).set({ expires_at }).where(eq(apiKeys.id, key.id));
        budgets[key.id] = { ratio: 1, state: "exhausted" };
        ids.push(key.id);
      }
      return ids;
    };
    await keysOf(many, 60);
    const [other] = await keysOf(few, 1);
    await passed(`key_term_budget_exhausted:${other}`);
    await passed(`key_term_budget_exhausted:tenant:${many.id}`);
    await db.insert(users).values({
      email: "p@example.org",
      name: "",
      provider: "corp",
      subject: "p",
      role: "user",
      status: "pending",
      created_at: EARLIER,
    });
    expect((await attention()).map(({ kind, entity_id, name, detail }) => [kind, entity_id, name, detail])).toEqual([
      ["budget_exhausted", other, "few: k0", `100 percent used (monthly), until ${iso(NOW_MS + HOUR_MS)}`],
      [
        "budget_exhausted",
        `tenant:${many.id}`,
        "many",
        expect.stringMatching(
          /^at least 49 API keys have used up their budgets, the first are "k\d+", "k\d+", "k\d+"$/,
        ),
      ],
      ["key_expires", other, "few: k0", `expires at ${iso(NOW_MS + 60_000)}`],
      [
        "key_expires",
        `tenant:${many.id}`,
        "many",
        '60 API keys expire within 72 hours, the first are "k0", "k1", "k2"',
      ],
      ["user_pending", "pending", "Accounts", "1 account is awaiting approval"],
    ]);
    await db.delete(users);
    await db.delete(alertLog);
    for (const { id } of [many, few]) await control.request("DELETE", `/api/v1/tenants/${id}`);
  });

  it("lists rows that wait or were refused, and a cell that is down without hiding the rest", async () => {
    Object.assign(gauges, { gateway_telemetry_aside: 3, gateway_spill_bytes: 100 * 1024 * 1024 });
    expect((await attention()).map(({ kind, name, detail }) => [kind, name, detail])).toEqual([
      ["usage_refused", "local", "the analytics store refuses 3 usage rows"],
      ["usage_waiting", "local", "100 MiB of usage rows wait for the analytics store"],
    ]);
    Object.assign(gauges, { gateway_telemetry_aside: 0, gateway_spill_bytes: 0 });
    await control.request("PUT", "/api/v1/settings/assistant", { enabled: true });
    const away = await attention(new Cells([{ cell: "far", url: "http://127.0.0.1:9" }], "internal"));
    expect(away.map(({ kind, name }) => [kind, name])).toEqual([
      ["cell_unreachable", "far"],
      ["setting_without_effect", "assistant"],
    ]);
    await control.request("PUT", "/api/v1/settings/assistant", { enabled: false });
  });

  it("is asked for changes that are not confirmed for a minute", async () => {
    const { db } = control.connection;
    await db.update(outbox).set({ done_at: null, created_at: new Date(NOW_MS - 61_000) });
    const [item] = await attention();
    expect(item).toMatchObject({ kind: "sync_pending", entity_type: "gateway", since: iso(NOW_MS - 61_000) });
    await db.update(outbox).set({ done_at: new Date() });
  });

  it("is asked once for all people who wait for approval", async () => {
    const { db } = control.connection;
    const person = (subject: string, status: "pending" | "active", hours: number) => ({
      email: `${subject}@example.org`,
      name: "",
      provider: "corp",
      subject,
      role: "user" as const,
      status,
      created_at: new Date(NOW_MS - hours * HOUR_MS),
    });
    await db.insert(users).values([person("a", "pending", 1), person("b", "pending", 3), person("c", "active", 9)]);
    expect(await attention()).toEqual([
      {
        ...WITHOUT_ALERT,
        kind: "user_pending",
        entity_type: "user",
        entity_id: "pending",
        name: "Accounts",
        detail: "2 accounts are awaiting approval",
        since: iso(NOW_MS - 3 * HOUR_MS),
      },
    ]);
    await db.delete(users).where(eq(users.subject, "b"));
    expect((await attention()).map(({ detail }) => detail)).toEqual(["1 account is awaiting approval"]);
    await db.delete(users);
  });

  it("is asked for alerts that fire and have no entry of their own, long waits among them", async () => {
    const { db } = control.connection;
    const row = { began_at_ms: NOW_MS, last_at_ms: NOW_MS, times: 1, firing_since_ms: NOW_MS, firing_times: 1 };
    for (const issue_key of [
      "scheduler_unavailable",
      "queue_wait_long:local:m",
      "redis_sync_failed",
      "tenant_expiry:t",
    ])
      await db.insert(alertLog).values({ issue_key, title: "A title", detail: "cell local", ...row });
    const entry = (key: string, severity: string, name = "A title") => ({
      kind: "alert",
      entity_type: "gateway",
      entity_id: key,
      name,
      detail: "cell local",
      since: iso(NOW_MS),
      severity,
      alert_key: key,
      muted_until: null,
    });
    expect(await attention()).toEqual([
      entry("scheduler_unavailable", "critical"),
      entry("queue_wait_long:local:m", "warning", "A title: m"),
    ]);
  });

  it("drops a queue that nobody waits in after two minutes, and says how old another alert is", async () => {
    const { db } = control.connection;
    const last_at_ms = NOW_MS - 131_000;
    await db.update(alertLog).set({ last_at_ms });
    expect((await attention()).map(({ entity_id, detail }) => [entity_id, detail])).toEqual([
      ["scheduler_unavailable", `cell local (last at ${iso(last_at_ms)})`],
    ]);
    await db.update(alertLog).set({ last_at_ms: NOW_MS });
  });

  it("lists what is muted last", async () => {
    const until = iso(NOW_MS + HOUR_MS);
    const answer = await control.request("PATCH", "/api/v1/alerts/scheduler_unavailable", { muted_until: until });
    expect(answer.status).toBe(200);
    expect((await attention()).map(({ entity_id, detail, muted_until }) => [entity_id, detail, muted_until])).toEqual([
      ["queue_wait_long:local:m", "cell local", null],
      ["scheduler_unavailable", `cell local (muted until ${until})`, until],
    ]);
    await control.request("PATCH", "/api/v1/alerts/scheduler_unavailable", { muted_until: null });
  });

  it("is answered by its route", async () => {
    const answer = await control.request("GET", "/api/v1/overview/attention");
    expect({
      status: answer.status,
      kinds: ((await answer.json()) as AttentionItem[]).map(({ kind }) => kind),
    }).toEqual({ status: 200, kinds: ["cell_unreachable", "alert", "alert"] });
  });
});
