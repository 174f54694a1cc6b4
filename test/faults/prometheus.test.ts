/**
 * Prometheus' own program reads a running gateway: every panel of the dashboard shows something, and every alert rule
 * can be evaluated and calls with a runbook.
 *
 * @module-tag long
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { readExposition } from "../harness/exposition.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { dashboardSchema } from "../harness/infra/dashboard-schema.ts";
import { programPath } from "../harness/program-path.ts";
import { type Prometheus, startPrometheus } from "../harness/prometheus.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const DOCS = "https://wiki.example/gateway/docs";
const GRAFANA = join(import.meta.dirname, "../../infra/grafana");
const dashboard = dashboardSchema.parse(JSON.parse(readFileSync(join(GRAFANA, "dashboard.json"), "utf8")));
const queries = dashboard.panels.flatMap((panel) =>
  panel.type === "row" ? [] : panel.targets.map(({ refId, expr }) => [`${panel.title} ${refId}`, expr] as const),
);
const alerts = [...readFileSync(join(GRAFANA, "alerts.yml"), "utf8").matchAll(/- alert: (\w+)/g)].map(
  ([, name = ""]) => name,
);
/** With one scrape a second a minute has enough of them for a rate. */
const asGrafanaAsks = (expression: string): string =>
  expression.replaceAll("$__rate_interval", "1m").replaceAll("$cell", ".*");

let folder: string;
let upstream: TestUpstream;
let stack: Stack;
let gateway: Gateway;
let minted: Minted;
let prometheus: Prometheus;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-prometheus-"));
  upstream = await startTestUpstream();
  // an identity provider that nobody reaches: its series appear with the first token
  const issuers = [{ issuer: "http://127.0.0.1:9", audience: "gateway", tenant: "people" }];
  stack = await startStack({
    env: stackEnv(join(folder, "stack"), { GATEWAY_JWT_ISSUERS: JSON.stringify(issuers) }),
  });
  prometheus = await startPrometheus(join(folder, "prometheus"), new URL(stack.metricsUrl).host, DOCS);
  gateway = new Gateway(stack);
  minted = await gateway.mint(upstream.url);
  await traffic();
});
afterAll(async () => {
  await prometheus.stop();
  await stack.stop();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A request that is served, a call of a tool server that does not exist, and a token that nobody can check. */
async function traffic(): Promise<void> {
  const served = await gateway.chat(minted, { stream: true });
  expect(served.status).toBe(200);
  await served.text();
  const headers = { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" };
  const unknown = await fetch(`${stack.proxyUrl}/mcp/nowhere`, { method: "POST", headers, body: "{}" });
  expect(unknown.status).toBe(404);
  await unknown.text();
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const token = [part({ alg: "RS256", kid: "k" }), part({ iss: "http://127.0.0.1:9", sub: "s" }), "c2ln"].join(".");
  const refused = await gateway.chat(minted, { headers: { authorization: `Bearer ${token}` } });
  expect(refused.ok).toBe(false);
  await refused.text();
}

describe("Prometheus", () => {
  it.each(queries)("has data for the panel %s", async (_, expression) => {
    const result = await waitFor(
      async () => await prometheus.query(asGrafanaAsks(expression)),
      (samples) => samples.length > 0,
    );
    expect(result.length).toBeGreaterThan(0);
  });

  it("finds no fault in rules, configurations and a scrape with its checker", async () => {
    const promtool = programPath("promtool");
    if (promtool === undefined) throw new Error("promtool is missing: it comes with the package prometheus");
    execFileSync(promtool, ["check", "rules", join(GRAFANA, "alerts.yml")], { stdio: "pipe" });
    for (const folder of [GRAFANA, join(GRAFANA, "../containers")])
      execFileSync(promtool, ["check", "config", "--syntax-only", join(folder, "prometheus.yml")], { stdio: "pipe" });
    const scrape = await readExposition(await (await fetch(`${stack.metricsUrl}/metrics`)).text());
    expect(scrape.faults).toEqual([]);
  });

  it("has the cells among which the dashboard lets people choose", async () => {
    expect(await prometheus.labelValues("gateway_cell_up", "cell")).toEqual(["local"]);
  });

  it("shows in the panels what has happened", async () => {
    const value = async (title: string): Promise<number> => {
      const expression = queries.find(([name]) => name === title)?.[1] ?? "";
      const samples = await prometheus.query(asGrafanaAsks(expression).replaceAll("rate(", "increase("));
      return samples.reduce((sum, { value: [, text] }) => sum + Number(text), 0);
    };
    // a scrape that a busy machine answers late takes the series away until the next one
    await waitFor(
      async () => await value("Cells up A"),
      (count) => count === 1,
    );
    // what happened before a series was scraped first is in no rate of it
    await traffic();
    for (const title of ["Requests A", "Tokens A", "Tokens B", "Failed MCP requests A"])
      await waitFor(
        async () => await value(title),
        (count) => count > 0,
      );
  });

  it("evaluates every alert rule, and none calls while all is well", async () => {
    const rules = await waitFor(
      async () => await prometheus.rules(),
      (all) => all.length === alerts.length && all.every(({ health }) => health !== "unknown"),
    );
    expect(rules.map(({ name }) => name).toSorted()).toEqual(alerts.toSorted());
    expect(rules.filter(({ health }) => health !== "ok").map(({ name, lastError }) => [name, lastError])).toEqual([]);
    expect(rules.filter(({ state }) => state === "firing").map(({ name }) => name)).toEqual([]);
  });

  // the last one, because it takes the gateway away
  it("calls for a gateway that is gone, with the address of its runbook", async () => {
    await stack.stop();
    const down = await waitFor(
      async () => (await prometheus.rules()).find(({ name }) => name === "GatewayControlServiceDown"),
      (rule) => rule !== undefined && rule.state !== "inactive",
    );
    expect(down?.alerts).toMatchObject([
      {
        labels: { severity: "critical" },
        annotations: { runbook_url: `${DOCS}/reference/alerts.md#gatewaycontrolservicedown` },
      },
    ]);
  });
});
