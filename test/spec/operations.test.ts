/**
 * Stats, metrics, internal routes, usage reads (docs/rules/metrics.md#families, docs/rules/fairshare.md#stats,
 * docs/rules/usage-reads.md#shapes).
 */
import { describe, expect, inject, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

async function metric(line: string): Promise<number> {
  const text = await (await fetch(`${inject("metricsUrl")}/metrics`)).text();
  const found = text.split("\n").find((entry) => entry.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1));
}

describe("the metrics listener", () => {
  it("counts requests by admission and status, with the cell", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "status=404");
    const line = 'gateway_requests_total{admission="fast",status="4xx",cell="local"}';
    const before = await metric(line);
    await (await fixture.gateway.chat(minted)).text();
    await waitFor(
      async () => await metric(line),
      (value) => value >= before + 1,
    );
    expect(await metric('gateway_requests_total{admission="boon",status="5xx",cell="local"}')).toBeGreaterThanOrEqual(
      0,
    );
    expect(await metric('gateway_telemetry_dropped{cell="local"}')).toBe(0);
    expect(await metric('gateway_in_flight{cell="local"}')).toBeGreaterThanOrEqual(0);
    expect(await metric('gateway_queue_depth{cell="local"}')).toBeGreaterThanOrEqual(0);
  });

  it("has its content type, and nothing but /metrics", async () => {
    const response = await fetch(`${inject("metricsUrl")}/metrics`);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    await response.text();
    expect((await fetch(`${inject("metricsUrl")}/`)).status).toBe(404);
  });
});

describe("stats", () => {
  it("are those of the control service's own cell, with every cell seen", async () => {
    const stats = await fixture.gateway.must<{ cell: string; max_in_flight: number; cells: { cell: string }[] }>(
      "GET",
      "/stats",
    );
    expect(stats).toMatchObject({ cell: "local", max_in_flight: 256, cells: [{ cell: "local", max_in_flight: 256 }] });
    expect((await fixture.gateway.admin("GET", "/stats?cell=elsewhere")).status).toBe(404);
  });
});

describe("internal routes", () => {
  it.each(["/internal/stats", "/internal/metrics", "/internal/nothing"])(
    "%s does not exist without its token",
    async (path) => {
      for (const authorization of ["", "Bearer wrong"]) {
        const response = await fetch(`${fixture.gateway.proxyUrl}${path}`, { headers: { authorization } });
        expect({ status: response.status, body: await response.json() }).toMatchObject({
          status: 404,
          body: { error: { code: "unknown_endpoint" } },
        });
      }
      const response = await fetch(`${fixture.gateway.proxyUrl}${path}`, {
        headers: { authorization: `Bearer ${inject("internalToken")}` },
      });
      await response.text();
      expect(response.status).toBe(path.endsWith("nothing") ? 404 : 200);
    },
  );
});

describe("the internal route of alerts", () => {
  const pull = async (authorization: string, body: string): Promise<Response> =>
    await fetch(`${fixture.gateway.proxyUrl}/internal/alerts`, { method: "POST", headers: { authorization }, body });

  it("answers who has its token, and says what is wrong with a body", { tags: ["check"] }, async () => {
    const token = `Bearer ${inject("internalToken")}`;
    const unknown = await pull("Bearer wrong", '{"ack":null}');
    expect({ status: unknown.status, body: await unknown.json() }).toMatchObject({
      status: 404,
      body: { error: { code: "unknown_endpoint" } },
    });
    const malformed = await pull(token, '{"ack":7}');
    expect({ status: malformed.status, body: await malformed.json() }).toMatchObject({
      status: 400,
      body: { error: { param: "ack" } },
    });
    const batch = await pull(token, '{"ack":null}');
    expect({ status: batch.status, body: await batch.json() }).toMatchObject({
      status: 200,
      body: { alerts: expect.any(Array), dropped: 0 },
    });
  });
});

describe("the request log", () => {
  it("filters and continues from its cursor without losing or doubling a row", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    for (let count = 0; count < 7; count += 1)
      await (await fixture.gateway.chat(minted, { headers: { "x-session-id": `s${count % 2}` } })).text();
    await (await fixture.gateway.chat(minted, { body: { model: "absent" } })).text();
    const all = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (rows) => rows.length === 8,
    );
    expect(all.map((row) => row.ts_ms)).toEqual(all.map((row) => row.ts_ms).sort((a, b) => b - a));
    const paged: string[] = [];
    let cursor = "";
    for (;;) {
      const page = await fixture.gateway.must<typeof all>(
        "GET",
        `/usage/logs?tenant_id=${minted.tenant.id}&limit=3${cursor}`,
      );
      paged.push(...page.map((row) => row.request_id));
      const last = page.at(-1);
      if (page.length < 3 || last === undefined) break;
      cursor = `&before_ms=${last.ts_ms}&before_request_id=${last.request_id}`;
    }
    expect(paged).toEqual(all.map((row) => row.request_id));
    const count = async (query: string): Promise<number> =>
      (await fixture.gateway.rows(minted.tenant.id, query)).length;
    expect(await count("&status=error")).toBe(1);
    expect(await count("&status=success")).toBe(7);
    expect(await count("&session_id=s0")).toBe(4);
    expect(await count(`&model=${minted.model.model_name}`)).toBe(7);
    expect(await count(`&key_id=${minted.key.id}`)).toBe(8);
    expect(await count("&request_type=embedding")).toBe(0);
    expect(await count("&traced_only=true")).toBe(0);
    expect(await count(`&request_id=${all[0]?.request_id.slice(0, 13).toUpperCase()}`)).toBe(1);
    expect(await count(`&until_ms=${(all.at(-1)?.ts_ms ?? 0) - 1}`)).toBe(0);
  });
});
