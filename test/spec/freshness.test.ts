/**
 * A change takes effect with the very next request (docs/rules/freshness.md#write-path).
 * @module-tag processes
 */
import { describe, expect, it } from "vitest";
import { busyClients, verdictOn } from "../harness/busy-clients.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

/** Status and message of the refusal. A slow store is answered with 503, which says nothing of the change. */
async function errorOf(minted: Minted): Promise<[number, string]> {
  return await waitFor(
    async () => {
      const response = await fixture.gateway.chat(minted);
      const body = (await response.json()) as { error: { message: string } };
      return [response.status, body.error.message];
    },
    ([status]) => status !== 503,
  );
}

describe("the very next request", () => {
  it("is refused after its key is disabled, served after it is enabled, unknown after deletion", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    expect(await verdictOn(fixture.gateway, minted)).toBe(200);
    for (let round = 0; round < 5; round += 1) {
      await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
      expect(await errorOf(minted)).toEqual([403, "api key disabled"]);
      await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: false });
      expect(await verdictOn(fixture.gateway, minted)).toBe(200);
    }
    await fixture.gateway.must("DELETE", `/keys/${minted.key.id}`);
    expect(await errorOf(minted)).toEqual([401, "invalid api key"]);
  });

  it("is refused after its tenant is suspended or gone", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    expect(await verdictOn(fixture.gateway, minted)).toBe(200);
    for (const status of ["suspended", "archived"]) {
      await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/status`, { status });
      expect(await errorOf(minted)).toEqual([403, "tenant is not active"]);
    }
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/status`, { status: "active" });
    expect(await verdictOn(fixture.gateway, minted)).toBe(200);
    await fixture.gateway.must("DELETE", `/tenants/${minted.tenant.id}`);
    expect(await errorOf(minted)).toEqual([401, "invalid api key"]);
  });

  it("sees a model that was changed, disabled, removed, and made again", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const path = `/models/${minted.model.id}`;
    const { upstream_model, api_base, model_name } = minted.model;
    expect(await verdictOn(fixture.gateway, minted)).toBe(200);
    await fixture.gateway.must("PUT", path, { upstream_model: "status=418", api_base });
    expect(await verdictOn(fixture.gateway, minted)).toBe(418);
    await fixture.gateway.must("PUT", path, { upstream_model, api_base, enabled: false });
    expect(await errorOf(minted)).toEqual([403, "model is disabled"]);
    await fixture.gateway.must("DELETE", path);
    expect((await errorOf(minted))[0]).toBe(404);
    await fixture.gateway.must("POST", "/models", { model_name, upstream_model, api_base });
    expect(await verdictOn(fixture.gateway, minted)).toBe(200);
  });

  it("is refused under load once a key is disabled, and served once it is enabled", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=5");
    for (let round = 0; round < 2; round += 1) {
      const clients = busyClients(fixture.gateway, minted, 50);
      await clients.served(100);
      await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
      expect(await clients.afterNow()).not.toContain(200);
      expect(await verdictOn(fixture.gateway, minted)).toBe(403);
      await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: false });
      for (let count = 0; count < 5; count += 1) expect(await verdictOn(fixture.gateway, minted)).toBe(200);
    }
  });
});
