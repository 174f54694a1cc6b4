/** The response cache on the running stack (docs/rules/response-cache.md#hits). */
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
    expect({ status: hit.status, shape: shape(hit), body: await hit.text() }).toEqual({
      status: 200,
      shape: shape(miss),
      body,
    });
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

  it("stores no broken stream", async () => {
    const broken = await fixture.gateway.mint(fixture.upstream.url, "cut,chunks=9,pace=5", { cache_enabled: true });
    for (let round = 0; round < 2; round += 1) {
      const response = await fixture.gateway.chat(broken, { stream: true });
      expect(response.headers.get("x-gateway-cache")).toBe("miss");
      await response.text();
    }
  });

  it.each([
    ["a disabled key", 403, "PUT", (minted: Minted) => `/keys/${minted.key.id}/disabled`, { disabled: true }],
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

describe("cached answers", () => {
  const statusAndCache = async (minted: Minted, headers: Readonly<Record<string, string>> = {}): Promise<string> => {
    const response = await fixture.gateway.chat(minted, { headers });
    await response.text();
    return `${response.status} ${response.headers.get("x-gateway-cache") ?? "off"}`;
  };
  const hot = async (): Promise<Minted> => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { cache_enabled: true });
    await waitFor(
      async () => await statusAndCache(minted),
      (line) => line === "200 hit",
    );
    return minted;
  };

  it("are counted once each, in rows and in savings", async () => {
    const minted = await hot();
    const before = (
      await waitFor(
        async () => await fixture.gateway.rows(minted.tenant.id),
        (rows) => rows.some((row) => row.cache_status === "hit"),
      )
    ).length;
    const lines = await Promise.all(Array.from({ length: 40 }, async () => await statusAndCache(minted)));
    expect(new Set(lines)).toEqual(new Set(["200 hit"]));
    await waitFor(
      async () => await fixture.gateway.countRows(minted.tenant.id),
      ({ rows }) => rows >= before + 40,
    );
    expect(await fixture.gateway.countRows(minted.tenant.id)).toEqual({ rows: before + 40, requests: before + 40 });
    expect(await fixture.gateway.must("GET", `/usage/cache?tenant_id=${minted.tenant.id}`)).toMatchObject({
      misses: 1,
      hits: before + 39,
      tokens_saved: 33 * (before + 39),
    });
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(1);
  });

  it("are not used for a request that switches boons off", async () => {
    expect(await statusAndCache(await hot(), { "x-gateway-boons": "off" })).toBe("200 off");
  });

  it("follow each change of their model, and of the tenant's allowed models, at once", async () => {
    const minted = await hot();
    const model = `/models/${minted.model.id}`;
    await fixture.gateway.must("PUT", `${model}/cache`, { cache_enabled: false });
    expect(await statusAndCache(minted)).toBe("200 off");
    await fixture.gateway.must("PUT", `${model}/cache`, { cache_enabled: true });
    await waitFor(
      async () => await statusAndCache(minted),
      (line) => line === "200 hit",
    );
    await fixture.gateway.must("PATCH", model, { upstream_model: "plain,elsewhere" });
    expect(await statusAndCache(minted)).toBe("200 miss");
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/allowlist`, { allowed_models: ["another"] });
    expect(await statusAndCache(minted)).toBe("403 off");
  });

  it("are deleted at the end of their time to live", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", {
      cache_enabled: true,
      cache_ttl_secs: 1,
    });
    for (const cache of ["hit", "miss", "hit"])
      await waitFor(
        async () => await statusAndCache(minted),
        (line) => line === `200 ${cache}`,
      );
  });
});
