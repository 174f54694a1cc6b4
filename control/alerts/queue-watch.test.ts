import { expect, it } from "vitest";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { QueueWatch } from "./queue-watch.ts";

const address = (cell: string) => ({ cell, url: "http://127.0.0.1:9" });

/** The queue of a tenant for a model; its oldest request waits so long. */
const queue = (model: string, oldestSecs: number, queued = 1) => ({
  tenant_id: `t${queued}`,
  tenant: "t",
  group: "g",
  model,
  queued,
  oldest_wait_ms: oldestSecs * 1000,
  reason: "model_cap" as const,
});

it("alerts once a minute while requests of a model wait long in a cell, after the first minute", async () => {
  const raised: RaisedAlert[] = [];
  const sink = { take: async (alerts: readonly RaisedAlert[]) => void raised.push(...alerts) };
  const cells: Record<string, ReturnType<typeof queue>[]> = {
    here: [queue("slow", 31, 2), queue("slow", 40, 3), queue("quick", 30)],
  };
  const queues = {
    addresses: [address("here"), address("away")],
    live: async ({ cell }: { readonly cell: string }) => {
      const waiting = cells[cell];
      if (waiting === undefined) throw new Error("no answer");
      return { waiting };
    },
  };
  const watch = new QueueWatch(queues, sink, 30_000);
  const keysAt = async (...seconds: number[]): Promise<readonly string[]> => {
    raised.length = 0;
    for (const second of seconds) await watch.run(second * 1000);
    return raised.map(({ issueKey }) => issueKey);
  };
  expect(await keysAt(0, 10, 50)).toEqual([]);
  expect(await keysAt(60)).toEqual(["queue_wait_long:here:slow"]);
  expect(raised[0]).toMatchObject({
    title: "Long queue waits",
    detail: "slow in cell here: 5 requests are waiting, the longest for 40 s (alert above 30 s)",
    cell: "here",
    count: 1,
  });
  expect(await keysAt(70, 110, 120)).toEqual(["queue_wait_long:here:slow"]);
  cells["here"] = [];
  expect(await keysAt(180)).toEqual([]);
  cells["here"] = [queue("slow", 300)];
  expect(await keysAt(190, 240)).toEqual([]);
  expect(await keysAt(250)).toEqual(["queue_wait_long:here:slow"]);
});
