/**
 * Durable Objects that do not answer: a tenant's budget (docs/rules/budgets.md#unreachable) and the Cell
 * (docs/rules/admission.md#unavailable). Requests fail as configured, the fault is reported, nothing is lost, and the
 * object is used again as soon as it is back.
 * @module-tag check
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startStack } from "../../infra/local/stack.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Model } from "../../shared/schema/model.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { useAnswerStore } from "../harness/answer-store.ts";
import { scrapeWith } from "../harness/exposition.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { alertsIn, blockObject } from "../harness/object-faults.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const answers = useAnswerStore();

interface Scene {
  readonly gateway: Gateway;
  /** The gateway, reached through a further cell. */
  by(cell: string): Gateway;
  readonly upstream: TestUpstream;
  readonly dataDir: string;
  readonly metricsUrl: string;
  /** The alert of an issue, once it has been reported. */
  alert(key: string): Promise<Readonly<Record<string, unknown>>>;
}

async function scene(
  env: Readonly<Record<string, string>>,
  before: (dataDir: string) => void = () => undefined,
  moreCells: readonly string[] = [],
): Promise<Scene> {
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-objects-"));
  before(dataDir);
  const lines: string[] = [];
  const upstream = await startTestUpstream();
  const stack = await startStack({ env: stackEnv(dataDir, env), log: (line) => lines.push(line), moreCells });
  onTestFinished(async () => {
    await stack.stop();
    await upstream.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return {
    gateway: new Gateway(stack),
    by: (cell) => {
      const { adminUrl, adminToken } = stack;
      return new Gateway({ proxyUrl: stack.cellUrls.get(cell) ?? "", adminUrl, adminToken });
    },
    upstream,
    dataDir,
    metricsUrl: stack.metricsUrl,
    alert: async (key) => {
      const found = await waitFor(
        () => alertsIn(lines).filter((alert) => alert["key"] === key),
        (alerts) => alerts.length > 0,
      );
      return found[0] ?? {};
    },
  };
}

interface Answered {
  readonly status: number;
  readonly message: string | null;
  readonly requestId: string | null;
}

async function chatWith(gateway: Gateway, minted: Minted): Promise<Answered> {
  const response = await gateway.chat(minted);
  const body = (await response.json()) as { error?: { message: string } };
  return {
    status: response.status,
    message: body.error?.message ?? null,
    requestId: response.headers.get("x-gateway-request-id"),
  };
}

/** One tenant with a budget of its own, and another with a budget of a key only; one request uses 33 tokens. */
async function capped({ gateway, upstream, dataDir }: Scene) {
  const [tenant, key] = [await gateway.mint(upstream.url), await gateway.mint(upstream.url)];
  // A cap is told to its budget as well.
  const [tenantBlock, keyBlock] = [tenant, key].map((of) => blockObject(dataDir, "TenantBudget", of.tenant.id));
  await gateway.must("PATCH", `/tenants/${tenant.tenant.id}/budget`, { budget_tokens: 30 });
  await gateway.must("PUT", `/keys/${key.key.id}`, { budget_tokens: 30 });
  return { tenant, key, tenantBlock, keyBlock };
}

/** Sends requests until a disabled key is refused for good; returns how many. */
async function sentUntilRefused(gateway: Gateway, minted: Minted): Promise<number> {
  let sent = 1;
  await waitFor(
    async () => {
      sent += 1;
      return (await chatWith(gateway, minted)).status;
    },
    (status) => status === 403,
  );
  expect(await chatWith(gateway, minted)).toMatchObject({ status: 403, message: "api key disabled" });
  return sent;
}

async function metric({ metricsUrl }: Scene, name: string): Promise<number> {
  const text = await scrapeWith(["local"], metricsUrl);
  return Number(new RegExp(`^${name}\\{cell="local"\\} (\\S+)$`, "m").exec(text)?.[1]);
}

describe("a budget that does not answer", () => {
  it("lets requests through by default, counts and reports them, and charges them afterwards", async () => {
    const world = await scene({});
    const { gateway } = world;
    const minted = await capped(world);
    for (const of of [minted.tenant, minted.key]) {
      const { status, requestId } = await chatWith(gateway, of);
      expect(status).toBe(200);
      expect(await gateway.row(of.tenant.id, requestId)).toMatchObject({ status_code: 200, total_tokens: 33 });
    }
    expect(await metric(world, "gateway_budget_unchecked_total")).toBe(2);
    expect(await world.alert("redis_budget_reserve_failed_open")).toMatchObject({
      title: "Budget check failed",
      detail: expect.stringMatching(/; request admitted \(fail-open\)$/),
    });
    await world.alert("redis_key_budget_reserve_failed_open");
    minted.tenantBlock?.restore();
    minted.keyBlock?.restore();
    for (const [of, message] of [
      [minted.tenant, "tenant term budget exhausted"],
      [minted.key, "api key term budget exhausted"],
    ] as const) {
      const refused = await waitFor(
        async () => await chatWith(gateway, of),
        ({ status }) => status !== 200,
      );
      expect(refused).toMatchObject({ status: 403, message });
    }
  });

  it("refuses requests with GATEWAY_FAIL_OPEN=false, holds no slot, and serves when it is back", {
    tags: ["long"],
  }, async () => {
    const world = await scene({ GATEWAY_FAIL_OPEN: "false" });
    const { gateway, upstream } = world;
    const minted = await capped(world);
    for (const [of, block, message, key] of [
      [minted.tenant, minted.tenantBlock, "budget check failed", "redis_budget_reserve_failed_closed"],
      [minted.key, minted.keyBlock, "key budget check failed", "redis_key_budget_reserve_failed_closed"],
    ] as const) {
      const refused = await chatWith(gateway, of);
      expect(refused).toMatchObject({ status: 503, message });
      expect(upstream.seen(of.mark)).toHaveLength(0);
      expect(await gateway.row(of.tenant.id, refused.requestId)).toMatchObject({
        status_code: 503,
        admission: "rejected",
        total_tokens: 0,
      });
      expect(await world.alert(key)).toMatchObject({
        detail: expect.stringMatching(/; request rejected \(fail-closed\)$/),
      });
      expect(await gateway.stats()).toMatchObject({ in_flight: 0, queued: 0 });
      block?.restore();
      expect(await chatWith(gateway, of)).toMatchObject({ status: 200 });
    }
  });

  it("counts reads of a stored answer all the same, once it is back", { tags: ["long"] }, async () => {
    const { gateway, dataDir } = await scene({});
    const minted = await gateway.mint(answers.baseOf("stored"));
    const { tenant, secret, model } = minted;
    const block = blockObject(dataDir, "TenantBudget", tenant.id);
    const get = async (path: string, init: RequestInit = {}) => {
      const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
      return await fetch(`${gateway.proxyUrl}/v1${path}`, { headers, ...init });
    };
    const body = JSON.stringify({ model: model.model_name, input: "hello" });
    const { id } = (await (await get("/responses", { method: "POST", body })).json()) as { id: string };
    const quota = { tokens_per_minute: 0, requests_per_minute: 2 };
    await gateway.must("PUT", `/tenants/${tenant.id}/quota`, quota);
    for (const _ of [1, 2, 3]) {
      const response = await get(`/responses/${id}`);
      await response.text();
      expect(response.status).toBe(200);
    }
    block.restore();
    const left = await waitFor(
      async () => {
        const limits = (await (await get("/limits")).json()) as {
          per_minute: { requests: { remaining: number } | null };
        };
        return limits.per_minute.requests?.remaining;
      },
      (remaining) => remaining === 0,
    );
    expect({ left, status: (await get(`/responses/${id}`)).status }).toEqual({ left: 0, status: 429 });
  });
});

describe("a Cell that does not answer", () => {
  it("makes requests 503 and writes pending, then recovers without losing or doubling a row", {
    tags: ["long"],
  }, async () => {
    let block = { restore: (): void => undefined };
    // The gateway starts only once its own Cell answers: a further one is unreachable here.
    const world = await scene(
      {},
      (dataDir) => {
        block = blockObject(dataDir, "Cell", "second");
      },
      ["second"],
    );
    const { gateway, upstream } = world;
    const second = world.by("second");
    const write = async <T>(method: string, path: string, body: unknown): Promise<T> => {
      const response = await gateway.admin(method, path, body);
      expect({ ok: response.ok, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
        ok: true,
        "x-gateway-sync": "pending",
      });
      return (await response.json()) as T;
    };
    const tenant = await gateway.must<Tenant>("POST", "/tenants", { name: "without a cell" });
    const { key, secret } = await write<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: "key" });
    const model = await write<Model>("POST", "/models", {
      model_name: "without-a-cell",
      upstream_model: "plain",
      api_base: upstream.url,
    });
    const minted: Minted = { tenant, key, secret, model, mark: "mark-without-a-cell" };
    const ids: (string | null)[] = [];
    for (let times = 0; times < 5; times += 1) {
      const refused = await chatWith(second, minted);
      expect(refused).toMatchObject({ status: 503, message: "scheduler unavailable" });
      ids.push(refused.requestId);
    }
    expect(upstream.seen(minted.mark)).toHaveLength(0);
    expect(await world.alert("scheduler_unavailable")).toMatchObject({
      title: "Scheduler unavailable",
      detail: "cell second: no answer; requests are rejected",
    });
    for (const requestId of ids)
      expect(await gateway.row(tenant.id, requestId)).toMatchObject({ status_code: 503, admission: "rejected" });

    await write("PUT", `/keys/${key.id}/disabled`, { disabled: true });
    block.restore();
    // The outbox delivers what was pending; from then on a write is confirmed again.
    const sent = await sentUntilRefused(second, minted);
    await waitFor(
      async () => {
        const response = await gateway.admin("PUT", `/keys/${key.id}/disabled`, { disabled: false });
        await response.text();
        return response.headers.get("x-gateway-sync");
      },
      (sync) => sync === null,
    );
    expect(await chatWith(second, minted)).toMatchObject({ status: 200 });
    const counted = await waitFor(
      async () => await gateway.countRows(tenant.id),
      ({ rows }) => rows >= 6 + sent,
    );
    expect(counted).toEqual({ rows: 6 + sent, requests: 6 + sent });
  });

  it("delays no other cell: a change applies there at once, and in this one once it is delivered", {
    tags: ["long"],
  }, async () => {
    let block = { restore: (): void => undefined };
    const world = await scene(
      {},
      (dataDir) => {
        block = blockObject(dataDir, "Cell", "second");
      },
      ["second"],
    );
    const { gateway, upstream } = world;
    const second = world.by("second");
    const tenant = await gateway.must<Tenant>("POST", "/tenants", { name: "of two cells" });
    const created = await gateway.admin("POST", `/tenants/${tenant.id}/keys`, { name: "key" });
    const { key, secret } = (await created.json()) as CreatedKey;
    const registered = await gateway.admin("POST", "/models", {
      model_name: "of-two-cells",
      upstream_model: "plain",
      api_base: upstream.url,
    });
    const minted: Minted = { tenant, key, secret, model: (await registered.json()) as Model, mark: "mark-two-cells" };
    expect((await chatWith(gateway, minted)).status).toBe(200);
    expect(await chatWith(second, minted)).toMatchObject({ status: 503, message: "scheduler unavailable" });
    expect(await world.alert("scheduler_unavailable")).toMatchObject({
      cell: "second",
      detail: "cell second: no answer; requests are rejected",
    });
    const revoked = await gateway.admin("PUT", `/keys/${key.id}/disabled`, { disabled: true });
    await revoked.text();
    expect({ status: revoked.status, "x-gateway-sync": revoked.headers.get("x-gateway-sync") }).toEqual({
      status: 200,
      "x-gateway-sync": "pending",
    });
    expect((await chatWith(gateway, minted)).status).toBe(403);
    block.restore();
    await sentUntilRefused(second, minted);
  });
});
