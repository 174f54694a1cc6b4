/**
 * Capacity, headroom and the scheduler, live (docs/rules/fairshare.md#live-view, docs/rules/fairshare.md#capacity,
 * docs/rules/fairshare.md#headroom), on a stack of its own, because the capacity is shared.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { type GatedUpstream, startGatedUpstream } from "../harness/gated-upstream.ts";
import { Gateway } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { waitFor } from "../harness/wait-for.ts";

let stack: Stack;
let upstream: GatedUpstream;
let gateway: Gateway;

beforeAll(async () => {
  upstream = await startGatedUpstream();
  stack = await startTestStack({ GATEWAY_GLOBAL_MAX_IN_FLIGHT: "4" });
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
});

describe("the capacity of a cell", () => {
  it("is live: raising it grants requests, lowering it aborts none, null restores the default", {
    tags: ["check"],
  }, async () => {
    expect(await gateway.must("PUT", "/capacity", { max_in_flight: 1 })).toMatchObject({
      max_in_flight: 1,
      cell: "local",
    });
    const minted = await gateway.mint(upstream.url);
    const answers = Array.from(
      { length: 3 },
      async () =>
        await gateway.chat(minted).then(async (response) => [response.status, (await response.text()).length > 0]),
    );
    await waitFor(
      async () => await gateway.stats(),
      ({ in_flight, queued }) => in_flight === 1 && queued === 2,
    );

    const live = await gateway.must<Record<string, unknown>>("GET", "/fairshare/live");
    expect(live).toMatchObject({
      cell: "local",
      algorithm: "hierarchical",
      max_in_flight: 1,
      global_in_flight: 1,
      global_queued: 2,
      groups: [
        { name: "default", weight: 100, in_flight: 1, queued: 2, slot_cap: 1, weight_share: 1, expected_slots: 1 },
      ],
      tenants: [
        {
          tenant_id: minted.tenant.id,
          name: minted.tenant.name,
          fairshare_group: "default",
          in_flight: 1,
          queued: 2,
          max_in_flight: null,
        },
      ],
      model_in_flight: { [minted.model.model_name]: 1 },
      model_queued: { [minted.model.model_name]: 2 },
      waiting: [
        {
          tenant_id: minted.tenant.id,
          tenant: minted.tenant.name,
          group: "default",
          model: minted.model.model_name,
          queued: 2,
          reason: "cell_full",
        },
      ],
      waiting_cells: ["local"],
    });

    await gateway.must("PUT", "/capacity", { max_in_flight: 3 });
    await waitFor(
      async () => await gateway.stats(),
      ({ in_flight, queued }) => in_flight === 3 && queued === 0,
    );
    await gateway.must("PUT", "/capacity", { max_in_flight: 1 });
    const history = await waitFor(
      async () =>
        await gateway.must<{ global_in_flight: number; tenants: { tenant_id: string }[] }[]>(
          "GET",
          "/fairshare/history",
        ),
      (samples) => samples.some(({ global_in_flight }) => global_in_flight > 0),
    );
    upstream.release();
    expect(await Promise.all(answers)).toEqual([
      [200, true],
      [200, true],
      [200, true],
    ]);
    const restored = await gateway.must("PUT", "/capacity", { max_in_flight: null });
    expect(restored).toMatchObject({ max_in_flight: 4, cell: "local" });
    expect(await gateway.must("GET", "/capacity")).toEqual(restored);

    expect(
      history.some((sample) => sample.global_in_flight > 0 && sample.tenants[0]?.tenant_id === minted.tenant.id),
    ).toBe(true);
    expect(await gateway.must("GET", `/fairshare/history?since_ms=${Date.now() + 60_000}`)).toEqual([]);
  });

  it.each([{}, { max_in_flight: 0 }, { max_in_flight: 1.5 }, { max_in_flight: 1_000_001 }, { max_in_flight: "8" }])(
    "refuses %j",
    async (body) => {
      const response = await gateway.admin("PUT", "/capacity", body);
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 400,
        body: { error: { param: "max_in_flight" } },
      });
    },
  );

  it.each(["/capacity", "/fairshare/live", "/fairshare/history"])(
    "%s of a cell that is not configured is 404",
    async (path) => {
      expect((await gateway.admin("GET", `${path}?cell=elsewhere`)).status).toBe(404);
    },
  );
});

describe("the headroom of a cell", () => {
  it("serves a newcomer at once while one tenant has lent itself everything else", { tags: ["check"] }, async () => {
    const SLOTS = 40;
    const HEADROOM = 2;
    const WAITING = 7;
    const gate = await startGatedUpstream();
    await gateway.must("PUT", "/capacity", { max_in_flight: SLOTS });
    const [busy, late] = await Promise.all([gateway.mint(gate.url), gateway.mint(gate.url)]);
    const call = async (minted: typeof busy): Promise<Response> =>
      await gateway.chat(minted, { body: { model: busy.model.model_name } });
    const flood = Array.from({ length: SLOTS - HEADROOM + WAITING }, async () => await (await call(busy)).text());
    await waitFor(
      async () => await gateway.stats(),
      ({ in_flight, queued }) => in_flight === SLOTS - HEADROOM && queued === WAITING,
    );
    expect(await gateway.must("GET", "/fairshare/live")).toMatchObject({
      max_in_flight: SLOTS,
      headroom: HEADROOM,
      waiting: [{ tenant_id: busy.tenant.id, queued: WAITING, reason: "headroom" }],
    });

    const served = call(late);
    await waitFor(
      async () => await gateway.stats(),
      ({ in_flight, queued }) => in_flight === SLOTS - HEADROOM + 1 && queued === WAITING,
    );
    gate.release();
    const answer = await served;
    await Promise.all([answer.text(), ...flood]);
    expect(await gateway.row(late.tenant.id, answer.headers.get("x-gateway-request-id"))).toMatchObject({
      admission: "fast",
      queue_wait_ms: 0,
      status_code: 200,
    });
    await gateway.must("PUT", "/capacity", { max_in_flight: null });
    await gate.close();
  });
});
