/**
 * Faults of a cluster that are no end of a process (docs/cluster.md): an instance is paused, is cut off from the bucket, has a
 * slow bucket or a wrong clock. No row is doubled, and no slot is granted by two owners.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { isPromised } from "../harness/ledger-load.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type Cluster, type Instance, startCluster } from "./cluster.ts";
import { holdWhileCutOff } from "./cut-off.ts";
import { hasRuntimeEnded, lose } from "./lose.ts";

let cluster: Cluster;
let instances: Instance[];
let upstream: TestUpstream;

beforeAll(async () => {
  [cluster, upstream] = await Promise.all([startCluster(), startTestUpstream()]);
  instances = [await cluster.join(), await cluster.join(), await cluster.join()];
  // the first request gives the Cell its owner
  const [{ gateway }] = instances as [Instance];
  await (await gateway.chat(await gateway.mint(upstream.url))).text();
});
afterAll(async () => {
  await cluster.close();
  await upstream.close();
});

/** The owner of the Cell, or an instance that is not. */
function one(who: "owner" | "another"): Instance {
  const owner = cluster.owner();
  return who === "owner" ? owner : (instances.find((each) => each !== owner) as Instance);
}
const others = (lost: Instance): Instance[] => instances.filter((each) => each !== lost);

/** Resolves when its runtime is a member of the cluster. */
async function back({ metricsUrl }: Instance): Promise<void> {
  const ready = async (): Promise<number> => (await fetch(`${metricsUrl}/ready`)).status;
  await waitFor(ready, (status) => status === 200);
}

/** How often the runtime of an instance has left the cluster because it could not renew its lease. */
const leaves = ({ lines }: Instance): number => lines.filter((line) => line.includes("leaving the cluster")).length;

type Answered = (count: number) => Promise<void>;

it("works with a slow bucket", async () => {
  const slow = one("owner");
  const how = async (answered: Answered): Promise<void> => {
    slow.bucket.slowBy(100);
    await answered(80);
    slow.bucket.slowBy(0);
  };
  const { statuses } = await lose({ fault: "owner, bucket 100 ms slower", upstream, others: instances, how });
  expect(statuses).toEqual([]);
});

it("keeps an instance out whose clock is 20 s ahead, and says so", async () => {
  const ahead = await cluster.knock({ clockAheadSecs: 20 });
  const said = (): boolean => ahead.lines.some((line) => line.includes("clock off from the bucket's by"));
  const how = async (answered: Answered): Promise<void> => {
    await waitFor(said, Boolean);
    await answered(80);
  };
  const { statuses } = await lose({ fault: "a clock 20 s ahead", upstream, others: instances, how });
  expect(statuses).toEqual([]);
  await ahead.end("SIGKILL");
});

it.each(["owner", "another"] as const)(
  "%s is paused for longer than its lease, and leaves when it wakes",
  async (who) => {
    const lost = one(who);
    const how = async (answered: Answered): Promise<void> => {
      lost.pause();
      // another instance keeps its slots until it has been silent for longer than the patience
      await answered(80);
      lost.resume();
    };
    const { statuses } = await lose({ fault: `${who} paused`, upstream, others: others(lost), lost, how });
    expect(statuses).toEqual([]);
    await back(lost);
  },
);

it.each([
  ["owner", "refuses"],
  ["another", "refuses"],
  ["owner", "silent"],
  ["another", "silent"],
] as const)("%s leaves when the bucket is away from it (%s), and comes back with it", async (who, state) => {
  const lost = one(who);
  const left = leaves(lost);
  const how = async (answered: Answered): Promise<void> => {
    lost.bucket.set(state);
    await waitFor(
      () => leaves(lost),
      (now) => now > left,
    );
    await answered(20);
    lost.bucket.set("open");
  };
  // Rows wait in the memory of the others meanwhile, which ends when their runtime does (docs/cluster.md#limits).
  const isOwed = (atMs: number, lostAtMs: number, backAtMs: number): boolean =>
    !hasRuntimeEnded(others(lost)) || isPromised(atMs, lostAtMs, backAtMs);
  const fault = `${who}, bucket ${state === "silent" ? "is silent" : state}`;
  const { statuses } = await lose({ fault, upstream, others: others(lost), lost, how, isOwed });
  expect(statuses.filter((status) => status !== 0 || !hasRuntimeEnded(others(lost)))).toEqual([]);
  await back(lost);
});

it.each(["owner", "another"] as const)(
  "%s is cut off from the others alone, and no slot is held twice",
  async (who) => {
    const cut = one(who);
    // The owner of the Cell continues, whichever side it is on.
    const going = who === "owner" ? [cut] : others(cut);
    const [other] = going as [Instance];
    const holder = who === "owner" ? (others(cut)[0] as Instance) : cut;
    const how = async (answered: Answered): Promise<void> => {
      const seen = await holdWhileCutOff({ holder, other }, upstream, () => cut.cutOff());
      expect(seen.givenAfterMs).toBeGreaterThan(seen.endedAfterMs);
      await answered(40);
      cut.rejoin();
    };
    const fault = `${who}, cut off from the others`;
    const { statuses } = await lose({ fault, upstream, others: going, lost: holder, how });
    expect(statuses).toEqual([]);
    // It serves again.
    const minted = await other.gateway.mint(upstream.url);
    await waitFor(
      async () => (await holder.gateway.chat(minted)).status,
      (status) => status === 200,
    );
  },
);
