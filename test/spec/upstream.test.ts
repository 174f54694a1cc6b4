/**
 * What the client gets for each behaviour of the upstream (docs/rules/upstream-calls.md#answers), and the row that the
 * request leaves.
 */
import { describe, expect, it } from "vitest";
import { dataOf, useGateway } from "../harness/fixture.ts";
import { mainRows } from "../harness/main-rows.ts";
import { SAID } from "../harness/upstream-answers.ts";

const fixture = useGateway();

describe("an upstream that answers", () => {
  mainRows(3)([
    ["status=400", 400],
    ["status=429", 429],
    ["status=500", 502],
    ["status=404", 404],
    ["status=503", 502],
    ["status=302", 502],
  ])("%s reaches the client as %i with its own body, and costs nothing", async (behaviour, status) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, behaviour);
    const response = await fixture.gateway.chat(minted);
    const upstreamStatus = Number(behaviour.slice(7));
    expect({ status: response.status, body: await response.json() }).toEqual({
      status,
      body: { detail: `status ${upstreamStatus}` },
    });
    expect(response.headers.get("retry-after")).toBe(upstreamStatus === 429 ? "7" : null);
    expect(response.headers.get("x-gateway-upstream-status")).toBe(String(upstreamStatus));
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      status_code: status,
      upstream_status: upstreamStatus,
      admission: "fast",
      total_tokens: 0,
      cost_usd: 0,
    });
  });
});

it.each([200, 429, 503, 529])("what an upstream says of its limits reaches the client with a %i", async (status) => {
  const minted = await fixture.gateway.mint(fixture.upstream.url, `says,status=${status}`, { max_retries: 0 });
  const { headers } = await fixture.gateway.chat(minted);
  expect(Object.fromEntries(Object.keys(SAID).map((name) => [name, headers.get(name)]))).toEqual(SAID);
});

describe("an error in a 200", () => {
  it.each([
    ["a document", "error=503", false],
    ["a first event", "error=503", true],
    ["a later event", "late-error", true],
  ])("is never cached: %s", async (_, behaviour, stream) => {
    const fields = { cache_enabled: true, max_retries: 0 };
    const minted = await fixture.gateway.mint(fixture.upstream.url, behaviour, fields);
    for (let call = 1; call <= 2; call += 1) {
      const response = await fixture.gateway.chat(minted, { stream });
      await response.text();
      expect(response.headers.get("x-gateway-cache")).toBe("miss");
      await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    }
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(2);
  });

  it.each([false, true])("after content is passed on, and named in the row (usage asked for: %j)", async (native) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "late-error,chunks=10,no-usage");
    const body = native ? { stream_options: { include_usage: true } } : {};
    const response = await fixture.gateway.chat(minted, { stream: true, body });
    const data = dataOf(await response.text());
    expect({ error: JSON.parse(data[3] ?? "null"), last: data.at(-1), status: response.status }).toEqual({
      error: { error: { message: "overloaded", code: 500 } },
      last: "[DONE]",
      status: 200,
    });
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect(row).toMatchObject({ status_code: 200, error_code: "upstream_stream_error", output_tokens: 10 });
  });
});

describe("an upstream that refuses the usage option", () => {
  it.each([400, 422])("with a %i that names it is asked without it, and remembered", async (status) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, `no-options,refuse=${status}`);
    for (let call = 1; call <= 2; call += 1) {
      const response = await fixture.gateway.chat(minted, { stream: true });
      expect({ status: response.status, last: dataOf(await response.text()).at(-1) }).toEqual({
        status: 200,
        last: "[DONE]",
      });
    }
    const seen = fixture.upstream.seen(minted.mark).map(({ body }) => "stream_options" in body);
    expect(seen).toEqual([true, false, false]);
  });

  it("is not asked again when its answer names another reason", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "status=400");
    const response = await fixture.gateway.chat(minted, { stream: true });
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 400,
      body: { detail: "status 400" },
    });
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(1);
  });
});

describe("an upstream that does not answer", () => {
  it.each([
    ["reset", 502, "upstream_failed", "upstream request failed"],
    ["hang", 504, "upstream_timeout", "upstream request timed out"],
  ])("%s is %i", { tags: ["check"] }, async (behaviour, status, code, message) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, behaviour, {
      request_timeout_secs: behaviour === "hang" ? 1 : 60,
    });
    const response = await fixture.gateway.chat(minted);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status,
      body: { error: { message, type: "upstream_error", code, param: null } },
    });
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      status_code: status,
      upstream_status: 0,
      total_tokens: 0,
      cost_usd: 0,
    });
  });

  it("at an address where no server listens is 502", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint("http://127.0.0.1:9/v1");
    expect((await fixture.gateway.chat(minted)).status).toBe(502);
  });
});

describe("a stream that breaks", () => {
  mainRows(2)([
    ["cut", {}],
    ["cut-mid", { stream_options: { include_usage: true } }],
    ["cut", { stream_options: { include_usage: true } }],
    ["cut-mid", {}],
    ["stall", {}],
    ["stall", { stream_options: { include_usage: true } }],
  ])("(%s, %j) ends with the in-band error and no [DONE]", async (behaviour, body) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, `${behaviour},chunks=10,pace=20`, {
      // Short only where time is what breaks the stream: a busy machine may need a second for the first byte.
      request_timeout_secs: behaviour === "stall" ? 3 : 60,
    });
    const response = await fixture.gateway.chat(minted, { stream: true, body });
    expect(response.status).toBe(200);
    const data = dataOf(await response.text());
    expect(JSON.parse(data.at(-1) ?? "null")).toEqual({
      error: {
        message: "upstream stream interrupted",
        type: "upstream_error",
        code: "upstream_stream_error",
        param: null,
      },
    });
    expect(data).not.toContain("[DONE]");
    expect(data.length).toBeGreaterThan(1);
    const row = await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
    expect(row).toMatchObject({ status_code: 200, upstream_status: 200 });
    // What was seen of it, and not the output that was estimated.
    expect(row.output_tokens).toBeLessThanOrEqual(data.length);
  });
});
