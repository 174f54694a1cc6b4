/** Alerts from where something fails to the control service, whatever is down on the way (decisions §0.4, §35). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { startStack } from "../../infra/local/stack.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { alertsIn } from "../harness/object-faults.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

it("budgets that come to their end are told once each, at four fifths and when they are exhausted", async () => {
  const upstream = await startTestUpstream();
  const folder = mkdtempSync(join(tmpdir(), "gateway-alerts-"));
  const lines: string[] = [];
  const stack = await startStack({ env: stackEnv(folder), log: (line) => lines.push(line) });
  try {
    const gateway = new Gateway(stack);
    // 33 tokens a request
    const minted = await gateway.mint(upstream.url);
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { budget_tokens: 120 });
    const statuses: number[] = [];
    for (let count = 0; count < 6; count += 1) {
      const response = await gateway.chat(minted, { body: { max_tokens: 10 } });
      await response.text();
      statuses.push(response.status);
    }
    expect(statuses.slice(0, 3)).toEqual([200, 200, 200]);
    expect(statuses.at(-1)).toBe(403);
    const keys = [`term_budget_warn:${minted.tenant.id}`, `term_budget_exhausted:${minted.tenant.id}`];
    const told = await waitFor(
      () => alertsIn(lines),
      (found) => keys.every((key) => found.some((alert) => alert["key"] === key)),
    );
    expect(told.map((alert) => [alert["key"], alert["title"], alert["cell"]])).toEqual([
      [keys[0], "Tenant budget at 80 percent", "local"],
      [keys[1], "Tenant budget exhausted", "local"],
    ]);
    expect(told[1]?.["detail"]).toBe(`${minted.tenant.name}: 132 of 120 tokens (lifetime)`);
  } finally {
    await stack.stop();
    await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

it("a store that fails is told once while it fails, also when the control service was away", async () => {
  const upstream = await startTestUpstream();
  const folder = mkdtempSync(join(tmpdir(), "gateway-alerts-"));
  const bridge = await startRedisBridge({ backend: memoryBackend(), token: "token" });
  const lines: string[] = [];
  const stack = await startStack({
    env: stackEnv(folder, { GATEWAY_REDIS_URL: bridge.url, GATEWAY_REDIS_TOKEN: "token" }),
    log: (line) => lines.push(line),
  });
  try {
    const gateway = new Gateway(stack);
    const minted = await gateway.mint(upstream.url);
    await bridge.close();
    const control = stack.parts.get("control")?.pid ?? 0;
    process.kill(control, "SIGKILL");
    for (let count = 0; count < 20; count += 1) {
      const refused = await gateway.chat(minted);
      await refused.text();
      expect(refused.status).toBe(503);
    }
    const alerts = await waitFor(
      () => alertsIn(lines),
      (found) => found.length > 0,
    );
    expect(stack.parts.get("control")?.pid).not.toBe(control);
    expect(alerts[0]).toMatchObject({
      event: "alert",
      key: "redis_key_lookup_failed",
      title: "Key-value store lookup failed",
      detail: "api key: the store did not answer; served from memory where possible, else rejected",
      cell: "local",
    });
    expect(alerts.length).toBeLessThan(20);
  } finally {
    await stack.stop();
    await bridge.close();
    await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
