/**
 * An instance that is more patient than the owner of the Cell keeps its slots for longer when it is cut off, and the Cell gives them
 * to nobody before (docs/rules/admission.md#leases-of-isolates).
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { type Cluster, type Instance, startCluster } from "./cluster.ts";
import { holdWhileCutOff } from "./cut-off.ts";

/** The owner's is 8 s, after which and 5 to 9 s more it would take back what an isolate holds that told of no lease. */
const PATIENCE_SECS = 24;

let cluster: Cluster;
let upstream: TestUpstream;
let owner: Instance;
let holder: Instance;

beforeAll(async () => {
  [cluster, upstream] = await Promise.all([startCluster(), startTestUpstream()]);
  owner = await cluster.join();
  // The first request gives the Cell its owner.
  await (await owner.gateway.chat(await owner.gateway.mint(upstream.url))).text();
  holder = await cluster.join({ env: { GATEWAY_ADMISSION_PATIENCE_SECS: String(PATIENCE_SECS) } });
});
afterAll(async () => {
  await cluster.close();
  await upstream.close();
});

it("no slot is held twice when it is cut off", async () => {
  expect(cluster.owner()).toBe(owner);
  const seen = await holdWhileCutOff({ holder, other: owner }, upstream, () => holder.cutOff());
  expect(seen.endedAfterMs).toBeGreaterThan((PATIENCE_SECS - 2) * 1000);
  expect(seen.givenAfterMs).toBeGreaterThan(seen.endedAfterMs);
  holder.rejoin();
});
