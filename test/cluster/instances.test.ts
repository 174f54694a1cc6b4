/**
 * A cluster of three instances (docs/cluster.md): objects are found from each of them and have one owner at a time, whichever instance
 * stops or is killed.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { dataOf } from "../harness/fixture.ts";
import { isPromised, startLoad } from "../harness/ledger-load.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type Cluster, type Instance, startCluster } from "./cluster.ts";
import { hasRuntimeEnded, lose } from "./lose.ts";
import { expectNothingLost, killUnderStreams } from "./streams-lost.ts";

let cluster: Cluster;
let instances: Instance[];
let upstream: TestUpstream;

beforeAll(async () => {
  [cluster, upstream] = await Promise.all([startCluster(), startTestUpstream()]);
  instances = [await cluster.join(), await cluster.join(), await cluster.join()];
});
afterAll(async () => {
  await cluster.close();
  await upstream.close();
});

/** The owner of the Cell, or an instance that is not. */
function one(which: "owner" | "another"): Instance {
  const owner = cluster.owner();
  return which === "owner" ? owner : (instances.find((each) => each !== owner) as Instance);
}
const others = (lost: Instance): Instance[] => instances.filter((each) => each !== lost);

it("streams through each instance, and all rows are in one ledger", async () => {
  const [{ gateway }] = instances as [Instance];
  const minted = await gateway.mint(upstream.url);
  for (const each of instances) {
    const answer = await each.gateway.chat(minted, { stream: true });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("[DONE]");
  }
  const rows = await waitFor(
    async () => await (instances[2] as Instance).gateway.rows(minted.tenant.id),
    (found) => found.length === instances.length,
  );
  expect(new Set(rows.map(({ request_id }) => request_id)).size).toBe(instances.length);
});

it("ends the streams of a disabled key on each instance", async () => {
  const [{ gateway }] = instances as [Instance];
  const minted = await gateway.mint(upstream.url, "chunks=100000,pace=50");
  const streams = await Promise.all(instances.map(async (each) => await each.gateway.chat(minted, { stream: true })));
  await gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
  const lastEvents = (await Promise.all(streams.map(async (stream) => await stream.text()))).map((text) =>
    dataOf(text).at(-1),
  );
  expect(lastEvents).toEqual(instances.map(() => expect.stringContaining('"code":"api_key_disabled"')));
});

it("refuses an instance that has another secret, by its name", async () => {
  const env = { GATEWAY_API_KEY_PEPPER: "a pepper that the others do not have" };
  const refused = await cluster.join({ env }).catch((error: unknown) => String(error));
  expect(refused).toMatch(/other instances of this cluster have a different GATEWAY_API_KEY_PEPPER: set the same/);
  expect(refused).not.toContain("that the others do not have");
});

it("holds a cap exactly over all instances", async () => {
  const [{ gateway }] = instances as [Instance];
  const minted = await gateway.mint(upstream.url, "delay=20", { max_in_flight: 4 });
  const loads = instances.map((each) => startLoad(each.gateway, minted, 4));
  await Promise.all(loads.map(async (load) => await load.more(40)));
  await Promise.all(loads.map(async (load) => await load.stop()));
  expect(upstream.peak(minted.mark)).toBe(4);
  expect(loads.flatMap((load) => [...load.others])).toEqual([]);
});

it.each(["owner", "another"] as const)(
  "continues without a refusal, and with every row, when %s is stopped",
  async (who) => {
    const lost = one(who);
    const how = async (): Promise<void> => expect(await lost.stop()).toBe(0);
    expect((await lose({ fault: `${who} stopped`, upstream, others: others(lost), how })).statuses).toEqual([]);
    instances = [...others(lost), await cluster.join()];
  },
);

it.each(["owner", "another"] as const)(
  "continues without a refusal when %s is killed, after its lease at the latest",
  async (who) => {
    const lost = one(who);
    const how = async (): Promise<void> => await lost.kill();
    const { statuses } = await lose({
      fault: `${who} killed`,
      upstream,
      others: others(lost),
      how,
      isOwed: isPromised,
    });
    expect(statuses.filter((status) => !hasRuntimeEnded(others(lost)) || status !== 0)).toEqual([]);
    instances = [...others(lost), await cluster.join()];
  },
);

it.each(["owner", "another"] as const)(
  "ends no stream of the other instances when %s is killed under a hundred",
  async (who) => {
    const lost = one(who);
    const seen = await killUnderStreams(instances, lost, upstream);
    instances = [...others(lost), await cluster.join()];
    process.stdout.write(`${who} killed under 100 streams: ${JSON.stringify(seen)}\n`);
    expectNothingLost(seen);
    if (!hasRuntimeEnded(others(lost))) expect(seen.othersHurt).toBe(0);
  },
);
