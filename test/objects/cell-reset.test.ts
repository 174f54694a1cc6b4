/**
 * The Cell is reset under load (docs/rules/admission.md#reset): streams go on, slots are counted again,
 * the cap is kept, and every row is written once.
 */
import { describe, expect, it } from "vitest";
import { waitFor } from "../harness/wait-for.ts";
import { Crowd } from "./crowd.ts";

const CAP = 4;

async function crowdOf(
  name: string,
  requests: number,
): Promise<{ crowd: Crowd; clients: ReturnType<Crowd["request"]>[] }> {
  const crowd = new Crowd(name);
  await crowd.isolate.stub.setCapacity(CAP);
  const clients = Array.from({ length: requests }, () => crowd.request());
  await crowd.isolate.load(CAP, requests - CAP);
  await waitFor(
    () => crowd.live.size,
    (size) => size === CAP,
  );
  return { crowd, clients };
}

/** Ends `count` streams, one after another, as soon as they have begun. */
async function finish(crowd: Crowd, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) {
    const [one] = (
      await waitFor(
        () => crowd.live,
        (live) => live.size > 0,
      )
    ).values();
    one?.finish();
  }
}

describe("a Cell that is reset under load", () => {
  it("counts the slots in use again, keeps their streams, and grants no more than its cap", async () => {
    const { crowd, clients } = await crowdOf("reset-once", 12);
    const streaming = clients.filter((client) => crowd.live.has(client.requestId));
    await crowd.isolate.reset();
    for (const stream of crowd.live.values()) stream.emit("after the reset");
    await waitFor(
      () => streaming.map((client) => client.text()),
      (texts) => texts.every((text) => text.includes("after the reset")),
    );
    await crowd.isolate.load(CAP, 8);
    expect([...crowd.live.keys()].toSorted()).toEqual(streaming.map((client) => client.requestId).toSorted());
    await finish(crowd, 12);
    expect(await Promise.all(clients.map(async (client) => await client.ended))).toEqual(clients.map(() => 200));
    expect(crowd.peak).toBe(CAP);
  });

  it("again and again: no row is lost or doubled, and the budget never forgets what was spent", async () => {
    const { crowd, clients } = await crowdOf("reset-often", 16);
    for (let round = 0; round < 3; round += 1) {
      await crowd.isolate.reset();
      await finish(crowd, 4);
    }
    await finish(crowd, 4);
    await Promise.all(clients.map(async (client) => await client.ended));
    await crowd.settled();
    await crowd.isolate.load(0, 0);
    expect(crowd.peak).toBe(CAP);
    const { ids, tokens } = await crowd.rows();
    expect(ids.toSorted()).toEqual(clients.map((client) => client.requestId).toSorted());
    // What a Cell had not reported when it ended counts as spent until the object has read the ledger.
    const { used_tokens, reserved_tokens } = await crowd.usage();
    expect(used_tokens).toBeLessThanOrEqual(tokens);
    expect(used_tokens + reserved_tokens).toBeGreaterThanOrEqual(tokens);
  });
});
