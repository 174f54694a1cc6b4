/**
 * What the client gets for each behaviour of the upstream (docs/rules/upstream-calls.md#answers), and the row that the
 * request leaves.
 */
import { describe, expect, it } from "vitest";
import { dataOf, useGateway } from "../harness/fixture.ts";
import { mainRows } from "../harness/main-rows.ts";

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

describe("an upstream that does not answer", () => {
  it.each([
    ["reset", 502, "upstream_failed", "upstream request failed"],
    ["hang", 504, "upstream_timeout", "upstream request timed out"],
  ])("%s is %i", async (behaviour, status, code, message) => {
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

  it("at an address where no server listens is 502", async () => {
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
