import { afterAll, beforeAll, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { OutboxWatch } from "./outbox-watch.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

it("alerts once a minute while changes stay unconfirmed for over a minute", async () => {
  const raised: RaisedAlert[] = [];
  const sink = { take: async (alerts: readonly RaisedAlert[]) => void raised.push(...alerts) };
  const watch = new OutboxWatch(async () => await control.publisher.unconfirmed(), sink, "here");
  const startMs = Date.now();
  const tellings = async (...afterMs: number[]): Promise<number> => {
    for (const after of afterMs) await watch.run(startMs + after);
    return raised.length;
  };
  const response = await control.request("POST", "/api/v1/tenants", { name: "t" });
  const { id } = (await response.json()) as Tenant;
  await control.request("POST", `/api/v1/tenants/${id}/keys`, {});
  expect({ unconfirmed: await control.publisher.unconfirmed(), raisedCount: await tellings(600_000) }).toEqual({
    unconfirmed: { changes: 0, sinceMs: null },
    raisedCount: 0,
  });

  control.cell.fail = true;
  await control.request("PATCH", `/api/v1/tenants/${id}/weight`, { weight: 2 });
  await control.request("PATCH", `/api/v1/tenants/${id}/weight`, { weight: 3 });
  expect(await tellings(30_000, 59_000)).toBe(0);
  expect(await tellings(70_000, 80_000, 90_000)).toBe(1);
  expect(raised[0]).toMatchObject({
    issueKey: "redis_sync_failed",
    title: "Configuration sync failed",
    detail: "2 changes wait for the key-value store or a cell",
    atMs: startMs + 70_000,
    cell: "here",
  });
  expect(await tellings(130_000, 140_000)).toBe(2);

  control.cell.fail = false;
  expect(await control.publisher.publishDue(new Date(startMs + 600_000))).toBe(0);
  expect(await tellings(150_000, 600_000)).toBe(2);
});
