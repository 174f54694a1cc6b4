/**
 * An instance of a cluster, the owner of the Cell or another one, is killed or stands still under load: no row is lost, doubled or
 * wrong, all slots come back, and budgets are the sum of the rows (docs/rules/admission.md#between-owners).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LOSSES, loseProcess, pauseFor } from "../harness/process-loss.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type Cluster, type Instance, startCluster } from "./cluster.ts";
import { runtimeEnds } from "./lose.ts";

/** Shorter leases end on a machine that is busy with three lanes of tests. */
const TIME_DIVISOR = 2;
const LEASE_MS = 10_000;
/** Longer than a lease and the takeover after it. */
const LONGER_MS = 15_000;

let cluster: Cluster;
let instances: Instance[];
let upstream: TestUpstream;

beforeAll(async () => {
  [cluster, upstream] = await Promise.all([startCluster(TIME_DIVISOR), startTestUpstream()]);
  instances = [await cluster.join(), await cluster.join(), await cluster.join()];
  // the first request gives the Cell its owner
  const [{ gateway }] = instances as [Instance];
  await (await gateway.chat(await gateway.mint(upstream.url))).text();
});
afterAll(async () => {
  await cluster.close();
  await upstream.close();
});

describe.each(["another", "owner"] as const)("%s", (who) => {
  it.each(LOSSES)("%s: each answered call has its true row, and nothing stays held", async (what, pauseMs) => {
    const owner = cluster.owner();
    const lost = who === "owner" ? owner : (instances.find((each) => each !== owner) as Instance);
    const others = instances.filter((each) => each !== lost);
    const [endsBefore, ownEndsBefore] = [runtimeEnds(others), runtimeEnds([lost])];
    // It may when a connection to an instance that ended breaks (docs/cluster.md#limits).
    const endsOthers = (): boolean => runtimeEnds(others) > endsBefore;
    const hasEnded = (): boolean => runtimeEnds([lost]) > ownEndsBefore;
    // After a pause of its lease it leaves the cluster. On a busy machine a shorter pause can be that long.
    const endsItself = (): boolean => pauseMs === null || pauseMs >= LEASE_MS || hasEnded();
    let serving = [lost, ...others];
    const seen = await loseProcess({
      fault: `cluster, ${who} ${what}`,
      upstream,
      pausedMs: pauseMs,
      longerMs: LONGER_MS,
      gateways: () => serving.map(({ gateway }) => gateway),
      lost: [lost.gateway],
      ends: endsItself,
      hasEnded,
      losesCell: who === "owner",
      endsOthers,
      reader: () => (others[0] as Instance).gateway,
      how: async () => {
        serving = others;
        if (pauseMs === null) await lost.kill();
        else await pauseFor(pauseMs, (signal) => (signal === "SIGSTOP" ? lost.pause() : lost.resume()));
      },
    });
    if (!endsOthers()) expect(seen.others).toEqual([]);
    if (!endsItself()) expect(seen.own).toEqual([]);
    if (pauseMs === null) instances = [...others, await cluster.join()];
    const [{ gateway }] = instances as [Instance];
    const minted = await gateway.mint(upstream.url);
    for (const each of instances)
      await waitFor(
        async () =>
          await (await each.gateway.chat(minted)).text().then(
            (text) => text.includes("hello world"),
            () => false,
          ),
        Boolean,
      );
  });
});
