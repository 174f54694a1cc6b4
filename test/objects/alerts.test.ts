/**
 * Alerts in the Ledger object: they survive a restart, are sent once, and are deleted only when the control service has
 * them.
 */
import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import type { AlertEvent } from "../../shared/alerts.ts";
import { waitFor } from "../harness/wait-for.ts";
import { rowFor } from "./admission-messages.ts";

const namespace = (env as unknown as { LEDGER: DurableObjectNamespace<LedgerObject> }).LEDGER;

let nextCell = 1;
const nameCell = (): string => `alerting-${nextCell++}`;

const event = (id: number): AlertEvent => ({
  id: `a${id}`,
  issueKey: `k${id}`,
  title: "t",
  detail: "d",
  atMs: id,
  count: 1,
});
const events = (count: number, from = 0): AlertEvent[] => Array.from({ length: count }, (_, at) => event(from + at));

/** Fills the Ledger so that no further segment fits. */
async function fill(stub: DurableObjectStub<LedgerObject>): Promise<void> {
  await stub.status();
  await runInDurableObject(stub, (_ledger, state) => {
    state.storage.sql.exec(
      "WITH RECURSIVE n(at) AS (SELECT 2 UNION ALL SELECT at + 1 FROM n WHERE at < 1025) INSERT INTO commits (id, bytes, orphan, lines) SELECT at * 1048576, 1, 0, '{}' FROM n",
    );
    state.storage.sql.exec("INSERT INTO meta (name, value) VALUES ('open_segment', '1026')");
  });
  await evictDurableObject(stub);
}

describe("the alerts of a Ledger", () => {
  it("survive a restart, are sent in order and in batches, and are deleted once confirmed", async () => {
    const stub = namespace.getByName(`${nameCell()}:0`);
    await stub.alert(events(150));
    await evictDurableObject(stub);
    const first = await stub.alerts(null);
    expect(first.alerts).toEqual(events(100));
    expect((await stub.alerts(null)).alerts).toEqual(events(100));
    const second = await stub.alerts({ ledger: first.ledger, through: first.through });
    expect(second.alerts).toEqual(events(50, 100));
    await evictDurableObject(stub);
    expect((await stub.alerts({ ledger: "of another storage", through: second.through })).alerts).toHaveLength(50);
    const last = await stub.alerts({ ledger: second.ledger, through: second.through });
    expect(last).toEqual({ ledger: first.ledger, through: 0, alerts: [], dropped: 0 });
  });

  it("are taken once per id, also after they were sent and after a restart", async () => {
    const stub = namespace.getByName(`${nameCell()}:0`);
    await stub.alert([event(1), event(1)]);
    const { ledger, through } = await stub.alerts(null);
    await stub.alert([event(1), event(2)]);
    expect((await stub.alerts({ ledger, through })).alerts).toEqual([event(2)]);
    await evictDurableObject(stub);
    await stub.alert([event(1), event(2), event(3)]);
    expect((await stub.alerts(null)).alerts).toEqual([event(2), event(3)]);
  });

  it("of one issue wait as one alert with an exact count, over a restart and after a first send", async () => {
    const stub = namespace.getByName(`${nameCell()}:0`);
    const repeat = (id: number, count: number): AlertEvent => ({ ...event(id), issueKey: "k", count });
    await stub.alert([repeat(1, 1), repeat(2, 9)]);
    await stub.alert([repeat(2, 9), repeat(3, 5)]);
    const first = await stub.alerts(null);
    expect(first.alerts).toEqual([{ ...repeat(3, 15), id: "a1" }]);
    await stub.alert([repeat(4, 2)]);
    await evictDurableObject(stub);
    await stub.alert([repeat(3, 5), repeat(4, 2), repeat(5, 1)]);
    await stub.alert([repeat(6, 1)]);
    const next = await stub.alerts({ ledger: first.ledger, through: first.through });
    expect(next.alerts.map(({ id, count }) => [id, count])).toEqual([
      ["a4", 2],
      ["a5", 2],
    ]);
  });

  it("that an older version has stored count as one each", async () => {
    const stub = namespace.getByName(`${nameCell()}:0`);
    await stub.alerts(null);
    const { count: _none, ...old } = event(7);
    await runInDurableObject(stub, (_ledger, state) => {
      state.storage.sql.exec("INSERT INTO alerts VALUES (1, 'a7', ?)", JSON.stringify(old));
    });
    await evictDurableObject(stub);
    expect((await stub.alerts(null)).alerts).toEqual([event(7)]);
  });

  it("drop the oldest beyond a thousand and count them for good", async () => {
    const stub = namespace.getByName(`${nameCell()}:0`);
    await stub.alert(events(1004));
    await evictDurableObject(stub);
    const { alerts, dropped } = await stub.alerts(null);
    expect({ id: alerts[0]?.id, dropped }).toEqual({ id: "a4", dropped: 4 });
  });

  it("report once that rows are being lost, whichever shard loses them, while the loss lasts", async () => {
    const cell = nameCell();
    const [first, second] = [namespace.getByName(`${cell}:0`), namespace.getByName(`${cell}:1`)];
    await fill(second);
    for (let sequence = 1; sequence <= 3; sequence += 1) {
      const row = rowFor(crypto.randomUUID());
      await second.append({ cell, epoch: "e", sequence, orphan: false, rows: [row] });
    }
    expect((await second.status()).dropped).toBe(3);
    const { alerts } = await waitFor(
      async () => await first.alerts(null),
      (batch) => batch.alerts.length > 0,
    );
    expect(alerts).toMatchObject([
      {
        issueKey: "usage_spill_refused",
        title: "Usage records are being lost",
        detail: "spill log full; 1 records dropped",
      },
    ]);
    await fill(first);
    await first.append({ cell, epoch: "e", sequence: 1, orphan: false, rows: [rowFor(crypto.randomUUID())] });
    const both = await waitFor(
      async () => await first.alerts(null),
      (batch) => batch.alerts.length > 1,
    );
    expect(both.alerts.map((alert) => alert.issueKey)).toEqual(["usage_spill_refused", "usage_spill_refused"]);
  });
});
