/** @module-tag check */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { storeKeys } from "../../shared/records.ts";
import type { Energy } from "../../shared/schema/settings/energy.ts";
import type { Jobsched, JobschedTest } from "../../shared/schema/settings/jobsched.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { type HttpSink, startHttpSink } from "../../test/harness/http-sink.ts";
import { mainRows } from "../../test/harness/main-rows.ts";
import { appSettings } from "../db/schema/settings.ts";
import { probeCompressor } from "../kernel/outbound/compressor-probe.ts";

let control: TestControl;
let sink: HttpSink;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  sink = await startHttpSink();
});
afterEach(async () => {
  await control.connection.db.delete(appSettings);
  await sink.close();
});

async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
  return (await (await control.request(method, `/api/v1/settings/${path}`, body)).json()) as T;
}

async function refusal(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await control.request(method, `/api/v1/settings/${path}`, body);
  return [response.status, ((await response.json()) as { error: unknown }).error];
}

/** A metrics server's answer to an instant query. */
function vector(value: string | null): { body: string } {
  const result = value === null ? [] : [{ metric: {}, value: [1, value] }];
  return { body: JSON.stringify({ status: "success", data: { resultType: "vector", result } }) };
}

describe("energy settings", () => {
  it("merge, and cannot be on without a place to read from", async () => {
    expect(await refusal("PUT", "energy", { enabled: true })).toMatchObject([
      400,
      { param: "prometheus_url", details: [{ path: "prometheus_url" }, { path: "power_query" }] },
    ]);
    const wanted = { enabled: true, prometheus_url: `${sink.url}/`, power_query: "power_watts", pue: 1.3 };
    const saved = { ...wanted, prometheus_url: sink.url, poll_interval_secs: 60 };
    expect(await send("PUT", "energy", wanted)).toMatchObject(saved);
    expect(await send("PUT", "energy", { poll_interval_secs: 0, carbon_g_per_kwh: 380 })).toMatchObject({
      ...saved,
      carbon_g_per_kwh: 380,
    });
    expect(await refusal("PUT", "energy", { power_query: "" })).toMatchObject([400, { param: "power_query" }]);
    expect(await send("GET", "energy")).toMatchObject(saved);
  });

  it.each([
    [{ enabled: 1 }, "enabled"],
    [{ prometheus_url: "metrics" }, "prometheus_url"],
    [{ prometheus_url: "http://user:pass@metrics" }, "prometheus_url"],
    [{ prometheus_url: "http://metrics?x=1" }, "prometheus_url"],
    [{ poll_interval_secs: 4 }, "poll_interval_secs"],
    [{ energy_cost_per_kwh: -1 }, "energy_cost_per_kwh"],
    [{ carbon_g_per_kwh: "380" }, "carbon_g_per_kwh"],
    [{ pue: 0 }, "pue"],
  ])("refuse %j by naming %s", async (body, field) => {
    expect(await refusal("PUT", "energy", body)).toMatchObject([400, { code: "validation_failed", param: field }]);
  });

  it("show the last reading", async () => {
    const reading = { cluster_watts: 1200, node_count: 4, read_at_ms: 1_700_000_000_000 };
    await control.store.put([{ hotKey: storeKeys.energyReading, text: JSON.stringify(reading) }]);
    expect((await send<Energy>("GET", "energy")).last_reading).toEqual({
      cluster_watts: 1200,
      node_count: 4,
      read_at: "2023-11-14T22:13:20.000Z",
      error: null,
    });
    await control.store.put([{ hotKey: storeKeys.energyReading, text: "nonsense" }]);
    expect((await send<Energy>("GET", "energy")).last_reading).toBeNull();
  });
});

describe("an energy test", () => {
  it("queries the metrics server for sum and count, with what is stored or given", async () => {
    sink.answer = ({ url }) => vector(url.includes("sum") ? "1250.5" : "3");
    await send("PUT", "energy", { prometheus_url: sink.url, power_query: 'w{a="b"}' });
    expect(await send("POST", "energy/test")).toEqual({ cluster_watts: 1250.5, node_count: 3 });
    const queries = sink.asked.map(({ url }) => new URL(url, sink.url).searchParams.get("query") ?? "");
    expect(queries.toSorted()).toEqual(['count(w{a="b"})', 'sum(w{a="b"})']);
    await send("POST", "energy/test", { power_query: "other" });
    expect(sink.asked.at(-1)?.url).toContain("other");
    expect(await send("GET", "energy")).toMatchObject({ power_query: 'w{a="b"}' });
  });

  it.each([
    ["http 500", () => ({ status: 500, body: "stack trace" })],
    ["not json", () => ({ body: "<html>" })],
    ["not a response to an instant query", () => ({ body: "{}" })],
    ["the query has no result", () => vector(null)],
    ["the result is not a number", () => vector("NaN")],
    ["http 302", () => ({ status: 302, headers: { location: "/" } })],
  ])("says %s", async (reason, answer) => {
    sink.answer = answer;
    const body = { prometheus_url: sink.url, power_query: "w" };
    expect(await refusal("POST", "energy/test", body)).toMatchObject([
      400,
      { code: "energy_test_failed", message: `power query failed: ${reason}` },
    ]);
  });

  it("says what is missing, and that no server listens", async () => {
    expect(await refusal("POST", "energy/test", {})).toMatchObject([
      400,
      { message: "power query failed: prometheus_url is not set" },
    ]);
    await sink.close();
    expect(await refusal("POST", "energy/test", { prometheus_url: sink.url, power_query: "w" })).toMatchObject([
      400,
      { message: "power query failed: connect failed" },
    ]);
  });
});

/** A JWT with these claims, without a valid signature. */
function jwt(claims: object): string {
  return `eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;
}

describe("job scheduler settings", () => {
  it("mask the token, keep it when it is omitted or blank, and clear it", async () => {
    const token = jwt({ exp: 1 });
    const shown = await send<Jobsched>("PUT", "jobsched", { enabled: true, url: sink.url, user: "u", token });
    expect(shown).toMatchObject({ enabled: true, url: sink.url, token_set: true, token_last4: token.slice(-4) });
    expect(JSON.stringify(await control.connection.db.select().from(appSettings))).not.toContain(token);
    for (const kept of [{}, { token: " " }, { token: null }, { node_aliases: [{ host: "n1", ip: "10.0.0.1" }] }])
      expect(await send("PUT", "jobsched", kept)).toMatchObject({ token_set: true, token_last4: token.slice(-4) });
    expect(await send("GET", "jobsched/resolved")).toEqual({
      enabled: true,
      url: sink.url,
      api_version: "v0.0.40",
      user: "u",
      token,
      node_aliases: [{ host: "n1", ip: "10.0.0.1" }],
      installation_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      may_act: true,
    });
    expect(await send("PUT", "jobsched", { clear_token: true })).toMatchObject({ token_set: false, token_last4: null });
    expect(await send("GET", "jobsched/resolved")).toMatchObject({ token: null });
    expect(await send("PUT", "jobsched", { token: "short" })).toMatchObject({ token_set: true, token_last4: null });
    const audit = JSON.stringify(await (await control.request("GET", "/api/v1/audit")).json());
    expect(audit).not.toContain(token.slice(-4));
  });

  it.each([
    [{ enabled: true }, "url"],
    [{ enabled: true, url: "http://scheduler" }, "user"],
    [{ url: "scheduler:6820" }, "url"],
    [{ url: "http://scheduler:6820?x=1" }, "url"],
    [{ url: "http://scheduler:6820#x" }, "url"],
    [{ api_version: "v0/../x" }, "api_version"],
    [{ api_version: "" }, "api_version"],
    [{ token: "a\nb" }, "token"],
    [{ user: "ü" }, "user"],
    [{ node_aliases: [{ host: "n1" }] }, "node_aliases.0.ip"],
  ])("refuse %j by naming %s", async (body, field) => {
    expect(await refusal("PUT", "jobsched", body)).toMatchObject([400, { code: "validation_failed", param: field }]);
  });

  it("know the provisioner by its last read", async () => {
    const beganMs = Date.now();
    await send("GET", "jobsched/resolved?outcome=error&error=held");
    const read = await send<Jobsched>("GET", "jobsched");
    expect(read.provisioner_last_seen_secs).toBeGreaterThanOrEqual(0);
    expect(read.provisioner_last_seen_secs).toBeLessThanOrEqual(Math.floor((Date.now() - beganMs) / 1000));
    expect(read).toMatchObject({
      provisioner_running: true,
      last_outcome: "error",
      last_error: "held",
    });
    await send("GET", "jobsched/resolved?outcome=idle");
    expect(await send("GET", "jobsched")).toMatchObject({ last_outcome: "idle", last_error: null });
    const heartbeat = { at_ms: Date.now() - 61_000, outcome: "ok", error: null };
    await control.store.put([{ hotKey: storeKeys.provisionerHeartbeat, text: JSON.stringify(heartbeat) }]);
    const late = await send<Jobsched>("GET", "jobsched");
    expect({ provisioner_running: late.provisioner_running, last_outcome: late.last_outcome }).toEqual({
      provisioner_running: false,
      last_outcome: "ok",
    });
    expect(late.provisioner_last_seen_secs).toBeGreaterThanOrEqual(61);
    expect(await refusal("GET", "jobsched/resolved?outcome=fine")).toMatchObject([400, { param: "outcome" }]);
  });
});

describe("a job scheduler test", () => {
  it("needs an address", async () => {
    expect(await refusal("POST", "jobsched/test")).toMatchObject([
      400,
      { code: "jobsched_not_configured", message: "job scheduler url is not set" },
    ]);
  });

  it("pings with the token and says when it expires", async () => {
    const token = jwt({ exp: 32_503_680_000 });
    await send("PUT", "jobsched", { url: sink.url, user: "u", token, api_version: "v0.0.41" });
    const { token: decoded, ping } = await send<JobschedTest>("POST", "jobsched/test");
    expect(decoded).toMatchObject({ set: true, expired: false, expires_at: "3000-01-01T00:00:00.000Z" });
    expect(decoded.expires_in_secs).toBeGreaterThan(0);
    expect(ping).toEqual({ ok: true, status_code: 200, latency_ms: ping.latency_ms, error: null });
    expect(sink.asked).toMatchObject([
      {
        method: "GET",
        url: "/slurm/v0.0.41/ping",
        headers: { "x-slurm-user-name": "u", "x-slurm-user-token": token },
      },
    ]);
    await send("PUT", "jobsched", { token: jwt({ exp: 1000 }) });
    expect((await send<JobschedTest>("POST", "jobsched/test")).token).toMatchObject({
      expired: true,
      expires_at: "1970-01-01T00:16:40.000Z",
    });
  });

  it.each(["no-jwt-at-all", jwt({ exp: "soon" }), jwt({ exp: 1e300 }), "a.!!.c"])(
    "knows no expiry of %s",
    async (token) => {
      await send("PUT", "jobsched", { url: sink.url, user: "u", token });
      sink.answer = () => ({ status: 401 });
      const { token: decoded, ping } = await send<JobschedTest>("POST", "jobsched/test");
      expect(decoded).toEqual({ set: true, expired: false, expires_at: null, expires_in_secs: null });
      expect(ping).toMatchObject({ ok: false, status_code: 401, error: "http 401" });
    },
  );

  it("says that no server listens", async () => {
    await send("PUT", "jobsched", { url: sink.url });
    await sink.close();
    expect((await send<JobschedTest>("POST", "jobsched/test")).ping).toMatchObject({
      ok: false,
      status_code: null,
      error: "connect failed",
    });
  });
});

describe("the probe of the compression sidecar", () => {
  it("reports model and revision of a sidecar that answers", async () => {
    sink.answer = () => ({ body: JSON.stringify({ status: "ok", model: "m", revision: "r", device: "cpu" }) });
    expect(await probeCompressor(sink.url, 800)).toEqual({
      configured: true,
      url: sink.url,
      reachable: true,
      model: "m",
      revision: "r",
      error: null,
    });
    expect(sink.asked).toMatchObject([{ method: "GET", url: "/health" }]);
  });

  mainRows(4)([
    ["http 500", () => ({ status: 500 })],
    ["not json", () => ({ body: "ok" })],
    ["status is not ok", () => ({ body: '{"status":"loading"}' })],
    ["answer too large", () => ({ body: "x".repeat(1024 * 1024 + 1) })],
    ["timeout", () => null],
  ])("fails soft: %s", async (error, answer) => {
    sink.answer = answer;
    expect(await probeCompressor(sink.url, 1)).toEqual({
      configured: true,
      url: sink.url,
      reachable: false,
      model: null,
      revision: null,
      error,
    });
  });

  it("fails soft when no server listens", async () => {
    await sink.close();
    expect(await probeCompressor(sink.url, 1)).toMatchObject({ reachable: false, error: "connect failed" });
  });
});
