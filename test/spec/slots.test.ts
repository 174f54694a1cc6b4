/**
 * A slot goes back the moment its holder has ended, and goes to the next request at once
 * (docs/rules/admission.md#membership).
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

describe("a model with one slot", () => {
  it("serves 40 clients after one another although each leaves in the middle", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=1000,pace=10", { max_in_flight: 1 });
    const leave = async (): Promise<void> => {
      const controller = new AbortController();
      const response = await fixture.gateway.chat(minted, { stream: true, signal: controller.signal });
      await response.body?.getReader().read();
      controller.abort();
    };
    await Promise.all(Array.from({ length: 40 }, leave));
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(40);
    // The upstream learns of a departure over its own connection: the call may overlap with that of the next holder, but
    // the overlap must not grow.
    expect(fixture.upstream.peak(minted.mark)).toBeLessThanOrEqual(2);
    const counted = await waitFor(
      async () => await fixture.gateway.countRows(minted.tenant.id),
      ({ rows }) => rows >= 40,
    );
    expect(counted).toEqual({ rows: 40, requests: 40 });
  });

  it("is free again after every kind of end", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain", { max_in_flight: 1 });
    const path = `/models/${minted.model.id}`;
    const { api_base } = minted.model;
    for (const upstream_model of [
      "status=400",
      "status=503",
      "reset",
      "cut,chunks=9,pace=5",
      "stall,pace=5",
      "hang",
      "plain",
    ]) {
      // Short only where time is what ends the request: a busy machine may need a second for an answer that comes.
      const request_timeout_secs = { hang: 1, "stall,pace=5": 3 }[upstream_model] ?? 60;
      await fixture.gateway.must("PUT", path, { upstream_model, api_base, request_timeout_secs });
      await (await fixture.gateway.chat(minted, { stream: true })).text();
    }
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length === 7,
    );
    expect(rows.map((row) => row.status_code).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 400, 502, 502, 504]);
  });

  it("delays no request for another model", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=2000,pace=10", { max_in_flight: 1 });
    const other = await fixture.gateway.must<typeof minted.model>("POST", "/models", {
      model_name: `other-${minted.mark}`,
      upstream_model: "plain",
      api_base: fixture.upstream.url,
    });
    const controller = new AbortController();
    const held = await fixture.gateway.chat(minted, { stream: true, signal: controller.signal });
    const reader = held.body?.getReader();
    await reader?.read();
    const waiting = fixture.gateway.chat(minted, { signal: controller.signal }).catch(() => null);
    await waitFor(
      async () => await fixture.gateway.loadOf(minted.model.model_name),
      ({ queued }) => queued === 1,
    );
    const response = await fixture.gateway.chat(minted, { body: { model: other.model_name } });
    await response.text();
    expect(await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
      admission: "fast",
      status_code: 200,
    });
    // The held answer is named here so that it lives until now: a client releases an answer that has no reference left.
    expect({ status: held.status, hasNoBody: reader === undefined }).toEqual({ status: 200, hasNoBody: false });
    controller.abort();
    expect(await waiting).toBeNull();
  });
});
