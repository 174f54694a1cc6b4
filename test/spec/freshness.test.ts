/** A change takes effect with the very next request (specification "States and transitions", decisions §2.6). */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";

const fixture = useGateway();

async function statusOf(minted: Minted): Promise<number> {
  const response = await fixture.gateway.chat(minted);
  await response.text();
  return response.status;
}

async function errorOf(minted: Minted): Promise<[number, string]> {
  const response = await fixture.gateway.chat(minted);
  const body = (await response.json()) as { error: { message: string } };
  return [response.status, body.error.message];
}

describe("the very next request", () => {
  it("is refused after a key is disabled, served after it is enabled, unknown after it is deleted", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    expect(await statusOf(minted)).toBe(200);
    for (let round = 0; round < 5; round += 1) {
      await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
      expect(await errorOf(minted)).toEqual([403, "api key disabled"]);
      await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: false });
      expect(await statusOf(minted)).toBe(200);
    }
    await fixture.gateway.must("DELETE", `/keys/${minted.key.id}`);
    expect(await errorOf(minted)).toEqual([401, "invalid api key"]);
  });

  it("is refused after its tenant is suspended or gone", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    expect(await statusOf(minted)).toBe(200);
    for (const status of ["suspended", "archived"]) {
      await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/status`, { status });
      expect(await errorOf(minted)).toEqual([403, "tenant is not active"]);
    }
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/status`, { status: "active" });
    expect(await statusOf(minted)).toBe(200);
    await fixture.gateway.must("DELETE", `/tenants/${minted.tenant.id}`);
    expect(await errorOf(minted)).toEqual([401, "invalid api key"]);
  });

  it("sees a model that was changed, disabled, removed, and made again", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const path = `/models/${minted.model.id}`;
    const { upstream_model, api_base, model_name } = minted.model;
    expect(await statusOf(minted)).toBe(200);
    await fixture.gateway.must("PUT", path, { upstream_model: "status=418", api_base });
    expect(await statusOf(minted)).toBe(418);
    await fixture.gateway.must("PUT", path, { upstream_model, api_base, enabled: false });
    expect(await errorOf(minted)).toEqual([403, "model is disabled"]);
    await fixture.gateway.must("DELETE", path);
    expect((await errorOf(minted))[0]).toBe(404);
    await fixture.gateway.must("POST", "/models", { model_name, upstream_model, api_base });
    expect(await statusOf(minted)).toBe(200);
  });

  it("is refused under load: nothing that starts after the answer is served", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=5");
    let revokedAt = Number.POSITIVE_INFINITY;
    let late = 0;
    let served = 0;
    const client = async (): Promise<void> => {
      for (;;) {
        const started = performance.now();
        const status = await statusOf(minted);
        if (status === 200) served += 1;
        if (started > revokedAt) {
          if (status !== 403) late += 1;
          return;
        }
      }
    };
    const clients = Array.from({ length: 20 }, client);
    while (served < 40) await statusOf(minted).then(() => (served += 1));
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    revokedAt = performance.now();
    await Promise.all(clients);
    expect(late).toBe(0);
  });
});
