/** @module-tag check */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Cells } from "../kernel/cells/cells.ts";
import { getFairshareLive } from "./get-fairshare.ts";
import { tenantLoadOf } from "./get-tenant-load.ts";

const load = {
  ts_ms: 1,
  algorithm: "hierarchical",
  max_in_flight: 1,
  global_in_flight: 1,
  global_queued: 1,
  groups: [],
  tenants: [],
  model_in_flight: {},
  model_queued: {},
};
const queue = {
  tenant_id: "t",
  tenant: "Acme",
  group: "default",
  model: "m",
  queued: 1,
  oldest_wait_ms: 5,
  reason: "cell_full",
};

const servers: Server[] = [];
let cells: Cells;

async function cellAnswering(cell: string, more: object): Promise<{ cell: string; url: string }> {
  const server = createServer((_, response) => {
    response.writeHead(200, { connection: "close" }).end(JSON.stringify({ cell, ...load, ...more }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { cell, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

beforeAll(async () => {
  cells = new Cells(
    [
      await cellAnswering("own", { waiting: [queue], waiting_cells: ["own"] }),
      await cellAnswering("far", { waiting: [{ ...queue, oldest_wait_ms: 90 }], waiting_cells: ["far"] }),
      // Deployed before queues were shown.
      await cellAnswering("older", {}),
      { cell: "down", url: "http://127.0.0.1:9" },
    ],
    "internal",
  );
});
afterAll(async () => {
  await Promise.all(servers.map(async (server) => await new Promise((resolve) => server.close(resolve))));
});

it("shows the queues of every cell that answers, and says which, when no cell is named", async () => {
  expect(await getFairshareLive({ cells, own: "own" }, {})).toMatchObject({
    cell: "own",
    global_queued: 1,
    waiting: [{ ...queue, queued: 2, oldest_wait_ms: 90 }],
    waiting_cells: ["far", "own"],
  });
});

it("shows the queues of the cell that is named", async () => {
  expect(await getFairshareLive({ cells, own: "own" }, { cell: "far" })).toMatchObject({
    cell: "far",
    waiting: [{ oldest_wait_ms: 90 }],
    waiting_cells: ["far"],
  });
  expect(await getFairshareLive({ cells, own: "own" }, { cell: "older" })).toMatchObject({
    waiting: [],
    waiting_cells: [],
  });
  await expect(getFairshareLive({ cells, own: "down" }, {})).rejects.toMatchObject({ code: "cell_unreachable" });
});

it("waits longer for the cell that is asked than for the others, which are left out", async () => {
  const letGo = Promise.withResolvers<undefined>();
  const silent = createServer((request) => void request.socket.once("close", () => letGo.resolve(undefined)));
  const slow = createServer((_, response) => {
    const body = JSON.stringify({ cell: "slow", ...load, waiting: [queue], waiting_cells: ["slow"] });
    void letGo.promise.then(() => response.writeHead(200, { connection: "close" }).end(body));
  });
  servers.push(silent, slow);
  const addresses = [];
  for (const [cell, server] of Object.entries({ silent, slow })) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    addresses.push({ cell, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  }
  const found = await getFairshareLive({ cells: new Cells(addresses, "internal"), own: "slow" }, {});
  expect(found).toMatchObject({ cell: "slow", waiting_cells: ["slow"] });
});

it("sums a tenant's load over all cells, with the longest wait and the fewest slots left", () => {
  const tenant = {
    tenant_id: "t",
    name: "Acme",
    fairshare_group: "default",
    weight: 1,
    max_in_flight: 5,
    served_tokens: 0,
    share_score: 0,
    weight_share: 1,
    expected_slots: 1,
  };
  const lines = (batch_in_flight: number, batch_queued: number) => ({ batch_in_flight, batch_queued });
  const waiting = [{ ...queue, reason: "tenant_cap" as const }];
  const other = { ...tenant, tenant_id: "other", in_flight: 50, queued: 50 };
  const cells = [
    {
      tenants: [other, { ...tenant, in_flight: 4, queued: 2 }],
      ...lines(0, 2),
      waiting: [...waiting, { ...queue, reason: "tenant_cap" as const, tenant_id: "other" }],
    },
    { ...lines(0, 0), tenants: [{ ...tenant, in_flight: 1, queued: 0 }], waiting: [] },
  ];
  const load = {
    in_flight: 5,
    queued: 2,
    oldest_wait_ms: 5,
    waits_for: "tenant_limit",
    batches_wait: true,
    slots_left: 1,
  };
  expect(tenantLoadOf(cells, "t", 5)).toEqual(load);
  const longer = { ...queue, oldest_wait_ms: 9, reason: "group_share" as const };
  expect(tenantLoadOf([...cells, { ...lines(1, 0), tenants: [], waiting: [longer] }], "t", 5)).toEqual({
    ...load,
    batches_wait: false,
    oldest_wait_ms: 9,
    waits_for: "shared_slots",
  });
  expect(tenantLoadOf([], "t", null)).toEqual({
    in_flight: 0,
    queued: 0,
    oldest_wait_ms: null,
    waits_for: null,
    batches_wait: false,
    slots_left: null,
  });
});
