/** @module-tag check */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { ExpiryWatch } from "./expiry-watch.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = Date.parse("2030-01-10T12:00:00Z");

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

async function tenant(name: string, hours: number): Promise<string> {
  const response = await control.request("POST", "/api/v1/tenants", { name });
  const { id } = (await response.json()) as Tenant;
  const active_until = new Date(NOW_MS + hours * HOUR_MS).toISOString();
  await control.request("PATCH", `/api/v1/tenants/${id}/schedule`, { active_until });
  return id;
}

it("alerts once a day, across replicas, for each tenant whose access ends within three days", async () => {
  const [last, first] = [await tenant("last", 72), await tenant("first", 1)];
  await tenant("too far", 72.1);
  await tenant("over", 0);
  const suspended = await tenant("suspended", 5);
  await control.request("PATCH", `/api/v1/tenants/${suspended}/status`, { status: "suspended" });
  await control.request("POST", "/api/v1/tenants", { name: "endless" });

  const raised: RaisedAlert[] = [];
  let full = false;
  const sink = {
    take: async (alerts: readonly RaisedAlert[]) => {
      if (full) throw new Error("full");
      raised.push(...alerts);
    },
  };
  const replicas = [1, 2].map(() => new ExpiryWatch(control.connection.db, control.store, sink, "here"));
  full = true;
  await expect(replicas[0]?.run(NOW_MS)).rejects.toThrow("full");
  full = false;
  for (const replica of [...replicas, ...replicas]) await replica.run(NOW_MS);
  expect(raised).toMatchObject([
    {
      issueKey: `tenant_expiry:${first}`,
      title: "Tenant access ends soon",
      detail: '"first": access ends at 2030-01-10T13:00:00.000Z',
      atMs: NOW_MS,
      cell: "here",
    },
    { issueKey: `tenant_expiry:${last}`, detail: '"last": access ends at 2030-01-13T12:00:00.000Z' },
  ]);
});
