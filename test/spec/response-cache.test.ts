/** Specification "Data plane routes" 10, decisions §21. */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

describe("a model with the response cache on", () => {
  it.each([false, true])("answers the same body again without its upstream (stream %s)", async (stream) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { cache_enabled: true });
    const miss = await fixture.gateway.chat(minted, { stream });
    expect(miss.headers.get("x-gateway-cache")).toBe("miss");
    const body = await miss.text();
    const hit = await waitFor(
      async () => await fixture.gateway.chat(minted, { stream }),
      (response) => response.headers.get("x-gateway-cache") === "hit",
    );
    const shape = (response: Response) =>
      ["content-type", "x-accel-buffering", "cache-control"].map((name) => response.headers.get(name));
    expect([hit.status, shape(hit), await hit.text()]).toEqual([200, shape(miss), body]);
    expect(await fixture.gateway.row(minted.tenant.id, miss.headers.get("x-gateway-request-id"))).toMatchObject({
      cache_status: "miss",
      total_tokens: 33,
    });
    expect(await fixture.gateway.row(minted.tenant.id, hit.headers.get("x-gateway-request-id"))).toMatchObject({
      cache_status: "hit",
      admission: "fast",
      status_code: 200,
      input_tokens: 11,
      output_tokens: 22,
      cost_usd: 0,
    });
    const calls = fixture.upstream.seen(minted.mark).length;
    await (await fixture.gateway.chat(minted, { stream })).text();
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(calls);
  });

  it("stores neither errors nor broken streams, and is refused to a revoked key", async () => {
    const broken = await fixture.gateway.mint(fixture.upstream.url, "cut,chunks=9,pace=5", { cache_enabled: true });
    for (let round = 0; round < 2; round += 1) {
      const response = await fixture.gateway.chat(broken, { stream: true });
      expect(response.headers.get("x-gateway-cache")).toBe("miss");
      await response.text();
    }
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { cache_enabled: true });
    await waitFor(
      async () => {
        const response = await fixture.gateway.chat(minted);
        await response.text();
        return response.headers.get("x-gateway-cache");
      },
      (cache) => cache === "hit",
    );
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    expect((await fixture.gateway.chat(minted)).status).toBe(403);
  });

  it.each([
    ["a deleted key", 401, "DELETE", (minted: Minted) => `/keys/${minted.key.id}`, undefined],
    [
      "a suspended tenant",
      403,
      "PATCH",
      (minted: Minted) => `/tenants/${minted.tenant.id}/status`,
      { status: "suspended" },
    ],
  ] as const)("is refused to %s with %i", async (_, status, method, path, body) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { cache_enabled: true });
    await waitFor(
      async () => {
        const response = await fixture.gateway.chat(minted);
        await response.text();
        return response.headers.get("x-gateway-cache");
      },
      (cache) => cache === "hit",
    );
    await fixture.gateway.must(method, path(minted), body);
    expect((await fixture.gateway.chat(minted)).status).toBe(status);
  });
});
