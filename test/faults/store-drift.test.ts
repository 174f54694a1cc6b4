/**
 * A column of the analytics store that somebody drops is noticed, and no row is stored without it
 * (docs/rules/storage-layouts.md#changed-columns).
 *
 * @module-tag long
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { analyticsExamination } from "../../control/cli/doctor/analytics-examination.ts";
import { call } from "../../edge/adapters/clickhouse-insert.ts";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { openEngine } from "../../infra/local/clickhouse/engine.ts";
import { firingAlerts } from "../harness/firing-alerts.ts";
import { Gateway } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const upstream = useStarted(startTestUpstream);

it("raises an alert, holds rows back, and stores them whole when the doctor's statement was run", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-drift-"));
  const engine = openEngine(folder, 2);
  const credentials = { user: "default", password: "the-password-of-the-analytics" };
  const clickhouse = await startClickhouseBridge({ engine, ...credentials });
  const place = { url: clickhouse.url, db: "gateway", ...credentials };
  const stack = await startTestStack({
    GATEWAY_CLICKHOUSE_URL: clickhouse.url,
    GATEWAY_CLICKHOUSE_USER: credentials.user,
    GATEWAY_CLICKHOUSE_PASSWORD: credentials.password,
  });
  try {
    const gateway = new Gateway(stack);
    const minted = await gateway.mint(upstream().url);
    const served = async (): Promise<string> => {
      const response = await gateway.chat(minted);
      await response.text();
      expect(response.status).toBe(200);
      return response.headers.get("x-gateway-request-id") ?? "";
    };
    await gateway.row(minted.tenant.id, await served());

    await call(place, "ALTER TABLE gateway.usage_raw DROP COLUMN upstream_model", {}, null);
    const request = await served();
    const alert = await waitFor(
      async () => (await firingAlerts(stack)).find(({ key }) => key === "analytics_schema_changed"),
      (found) => found !== undefined,
    );
    expect(alert?.detail).toBe("usage_raw.upstream_model is missing; gateway doctor says what to run");
    const stored = `SELECT count() FROM gateway.usage_raw WHERE request_id = '${request}'`;
    expect((await call(place, stored, {}, null)).trim()).toBe("0");

    const { findings } = await analyticsExamination(place, 30_000).run(AbortSignal.timeout(30_000));
    const finding = findings.find(({ state }) => state === "failure");
    expect(finding?.detail).toMatch(/^usage_raw\.upstream_model is missing/);
    await call(place, finding?.fix?.replace(/^run /, "") ?? "", {}, null);
    expect(await gateway.row(minted.tenant.id, request)).toMatchObject({ upstream_model: "plain" });
  } finally {
    await stack.stop();
    await clickhouse.close();
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
