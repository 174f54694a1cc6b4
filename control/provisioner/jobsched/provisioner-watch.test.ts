/** @module-tag check */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { alertEventSchema } from "../../../shared/alerts.ts";
import { startControl, type TestControl } from "../../../test/harness/control.ts";
import { provisionerAttention } from "../../alerts/attention/provisioner-attention.ts";
import { alertOutbox } from "../../db/schema/journal.ts";
import { provisionerState } from "../../db/schema/managed-models.ts";
import { ProvisionerWatch } from "./provisioner-watch.ts";

const MINUTE_MS = 60_000;

let control: TestControl;
let nowMs = Date.parse("2026-11-22T08:00:00Z");

beforeAll(async () => {
  control = await startControl({ now: () => new Date(nowMs) });
});
afterAll(async () => {
  await control.close();
});
beforeEach(async () => {
  await control.connection.db.delete(alertOutbox);
  await control.connection.db.delete(provisionerState);
  await enable(true);
});

const enable = async (enabled: boolean): Promise<void> => {
  const body = { enabled, url: "http://127.0.0.1:9", user: "u" };
  expect((await control.request("PUT", "/api/v1/settings/jobsched", body)).status).toBe(200);
};

/** A tick of the provisioner that says how the one before it went. */
const tick = async (query = ""): Promise<void> => {
  expect((await control.request("GET", `/api/v1/settings/jobsched/resolved${query}`)).status).toBe(200);
};

const raised = async (): Promise<readonly (readonly [key: string, detail: string])[]> =>
  (await control.connection.db.select().from(alertOutbox).orderBy(alertOutbox.seq)).map(({ event }) => {
    const { issueKey, detail } = alertEventSchema.parse(event);
    return [issueKey, detail];
  });

/** Lets the time pass in steps of half a minute, with a look in each. */
async function watchFor(watch: ProvisionerWatch, minutes: number, meanwhile = async (): Promise<void> => undefined) {
  for (let step = 0; step < minutes * 2; step += 1) {
    nowMs += MINUTE_MS / 2;
    await meanwhile();
    await watch.run();
  }
}

it("alerts each minute after 10 minutes without a successful tick, and once at recovery", async () => {
  const watch = new ProvisionerWatch(control.ctx, 10 * MINUTE_MS);
  await watchFor(watch, 5, async () => await tick("?outcome=ok"));
  const failing = async (): Promise<void> => await tick("?outcome=error&error=the%20scheduler%20answers%20503");
  await watchFor(watch, 9, failing);
  expect(await raised()).toEqual([]);
  await watchFor(watch, 2, failing);
  expect(await raised()).toEqual([
    ["slurm_reconcile_held", "no successful reconcile for 10 min: the scheduler answers 503"],
    ["slurm_reconcile_held", "no successful reconcile for 11 min: the scheduler answers 503"],
  ]);
  const shown = await provisionerAttention(control.ctx, new Date(nowMs));
  expect(shown.map(({ kind, detail }) => [kind, detail])).toContainEqual([
    "provisioner_held",
    "no successful reconcile for 11 min: the scheduler answers 503",
  ]);
  await tick("?outcome=ok");
  await watchFor(watch, 1);
  expect((await raised()).slice(2)).toEqual([["slurm_reconcile_recovered", "reconciling again"]]);
  await watchFor(watch, 5, async () => await tick("?outcome=ok"));
  expect(await raised()).toHaveLength(3);
});

it("raises it after the time that the operator has set, also soon after a start", async () => {
  const watch = new ProvisionerWatch(control.ctx, MINUTE_MS);
  await watchFor(watch, 1);
  expect(await raised()).toEqual([]);
  await watchFor(watch, 0.5);
  expect(await raised()).toEqual([
    ["slurm_reconcile_held", "no successful reconcile for 1 min: the provisioner is not running"],
  ]);
});

it.each([
  ["", "the provisioner is not running"],
  ["?outcome=idle", "the job scheduler settings are incomplete"],
])("says why no tick succeeds after %j", async (query, reason) => {
  const watch = new ProvisionerWatch(control.ctx, 10 * MINUTE_MS);
  await watchFor(watch, 11, async () => await (query === "" ? undefined : tick(query)));
  expect(await raised()).toContainEqual(["slurm_reconcile_held", `no successful reconcile for 10 min: ${reason}`]);
});

it("asks nobody while the provisioner is disabled, and starts over when it is enabled", {
  tags: ["check"],
}, async () => {
  const watch = new ProvisionerWatch(control.ctx, 10 * MINUTE_MS);
  await watchFor(watch, 9);
  await enable(false);
  await watchFor(watch, 20);
  await enable(true);
  await watchFor(watch, 10);
  expect(await raised()).toEqual([]);
  await watchFor(watch, 1);
  expect(await raised()).toHaveLength(1);
  await enable(false);
  await watchFor(watch, 1);
  expect((await control.connection.db.select().from(provisionerState))[0]).toMatchObject({ held_since: null });
});

it("waits for a first tick after a restart, and recovers an alert raised before it", async () => {
  const before = new ProvisionerWatch(control.ctx, 10 * MINUTE_MS);
  await tick("?outcome=ok");
  await before.run();
  nowMs += 60 * MINUTE_MS;
  const watch = new ProvisionerWatch(control.ctx, 10 * MINUTE_MS);
  await watchFor(watch, 1.5);
  expect(await raised()).toEqual([]);
  await watchFor(watch, 1);
  expect(await raised()).toEqual([
    ["slurm_reconcile_held", "no successful reconcile for 62 min: the provisioner is not running"],
  ]);
  await tick("?outcome=ok");
  await new ProvisionerWatch(control.ctx, 10 * MINUTE_MS).run();
  expect((await raised()).slice(1)).toEqual([["slurm_reconcile_recovered", "reconciling again"]]);
});
