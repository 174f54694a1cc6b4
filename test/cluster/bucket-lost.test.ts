/**
 * The bucket of a cluster is lost for good, under load (docs/recover.md#what-is-lost): the instances are started again on an
 * empty prefix. What the ledger had stays, each row once, and budgets are counted again from it.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import type { Gateway, Minted } from "../harness/gateway.ts";
import { account, startLoad } from "../harness/ledger-load.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { emptyBucket } from "./bucket-server.ts";
import { type Cluster, type Instance, startCluster } from "./cluster.ts";

/** Slots of the model. */
const CAP = 4;
const CLIENTS = 4;

let cluster: Cluster;
let upstream: TestUpstream;

beforeAll(async () => {
  [cluster, upstream] = await Promise.all([startCluster(), startTestUpstream()]);
});
afterAll(async () => {
  await cluster.close();
  await upstream.close();
});

/**
 * Waits until the tenant has used what its rows say; returns how much. `check`: before each look budgets are held against the
 * ledger, which counts rows that are older than 20 s (docs/rules/budgets.md#check-against-the-ledger).
 */
async function budgetIsOfRows(gateway: Gateway, { tenant }: Minted, check: boolean): Promise<number> {
  const read = async (): Promise<readonly [number, number]> => {
    if (check) await gateway.must("POST", "/resync");
    const { used_tokens, reserved_tokens } = await gateway.must<BudgetUsage>(
      "GET",
      `/tenants/${tenant.id}/budget/usage`,
    );
    const rows = await gateway.allRows(tenant.id);
    const tokens = rows.reduce((sum, { input_tokens, output_tokens }) => sum + input_tokens + output_tokens, 0);
    return [used_tokens + reserved_tokens, tokens];
  };
  const [used] = await waitFor(read, ([counted, inRows]) => counted === inRows);
  return used;
}

const loadsOn = (instances: readonly Instance[], minted: Minted) =>
  instances.map(({ gateway }) => startLoad(gateway, minted, CLIENTS));

it("loses and doubles no row of the ledger, counts budgets from the rows and keeps the cap", async () => {
  const before = [await cluster.join(), await cluster.join()];
  const [{ gateway: old, bucket }] = before as [Instance, Instance];
  const minted = await old.mint(upstream.url, "delay=20", { max_in_flight: CAP });
  const budget_started_at = new Date(Date.now() - 60_000).toISOString();
  await old.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { budget_tokens: 10_000_000, budget_started_at });
  const loads = loadsOn(before, minted);
  await Promise.all(loads.map(async (load) => await load.more(60)));
  expect(await emptyBucket(bucket.url)).toBeGreaterThan(0);
  const shipped = await waitFor(
    async () => await old.requestIds(minted.tenant.id),
    (ids) => ids.length > 0,
  );
  await Promise.all([
    ...before.map(async (each) => await each.kill()),
    ...loads.map(async (load) => await load.stop()),
  ]);

  const anew = { env: { GATEWAY_CLUSTER_BUCKET: "s3://gateway/anew" } };
  const after = [await cluster.join(anew), await cluster.join(anew)];
  const [{ gateway }] = after as [Instance, Instance];
  const found = await gateway.requestIds(minted.tenant.id);
  expect(found.filter((id) => shipped.includes(id)).toSorted()).toEqual(shipped.toSorted());
  expect(new Set(found).size).toBe(found.length);
  const used = await budgetIsOfRows(gateway, minted, true);
  expect(used).toBeGreaterThan(0);

  const cutOff = upstream.seen(minted.mark).filter((call) => call.cutOff).length;
  const further = loadsOn(after, minted);
  await Promise.all(further.map(async (load) => await load.more(60)));
  await Promise.all(further.map(async (load) => await load.stop()));
  const ended = further.flatMap((load) => load.ended);
  const [load] = further as [(typeof further)[number]];
  await account({
    fault: "the bucket of a cluster, for good",
    gateway,
    minted,
    load: { ...load, clients: 2 * CLIENTS, ended },
  });
  expect(further.flatMap((each) => [...each.others])).toEqual([]);
  expect(await budgetIsOfRows(gateway, minted, false)).toBeGreaterThan(used);
  const peak = upstream.peak(minted.mark);
  expect(peak).toBeGreaterThanOrEqual(CAP);
  // a call that is cut off when its runtime ends gives its slot back in the same moment, which the upstream may see later
  expect(peak - cutOff).toBeLessThanOrEqual(CAP);

  // the budget is a cap as well
  await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { budget_tokens: used, budget_started_at });
  const refused = await gateway.chat(minted);
  expect({ status: refused.status, body: await refused.json() }).toMatchObject({
    status: 403,
    body: { error: { code: "tenant_budget_exhausted" } },
  });
});
