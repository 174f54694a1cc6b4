/** @module-tag check */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { readyFloorOf, storeKeys } from "../../shared/records.ts";
import { FILL_PATH } from "../../shared/wire/internal.ts";
import { INTERNAL_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";
import { waitFor } from "../../test/harness/wait-for.ts";

let control: TestControl;

beforeEach(async () => {
  control = await startControl();
  expect((await control.request("POST", "/api/v1/models", { model_name: "m" })).status).toBe(200);
});
afterEach(async () => {
  await control.close();
});

async function mark(): Promise<string | null> {
  return (await control.store.get([storeKeys.ready]))[0] ?? null;
}

/** Removes the mark and the model, as when the store loses everything. */
async function empty(text: string | null = null): Promise<void> {
  await control.store.put([
    { hotKey: storeKeys.ready, text },
    { hotKey: storeKeys.model("m"), text: null },
  ]);
}

const isThere = async (): Promise<boolean> => (await control.store.get([storeKeys.model("m")]))[0] != null;
const alerts = (): readonly string[] => control.alerts.map(({ issueKey }) => issueKey);

it("fills a store that never had its copies, without an alert", async () => {
  await empty();
  expect(await control.fill.run()).toMatchObject({ models: 1 });
  expect({ floor: readyFloorOf(await mark()), alerts: alerts() }).toEqual({ floor: expect.any(Number), alerts: [] });
  expect(await control.fill.run()).toBeNull();
});

it("fills a store that was emptied, and raises the alert", async () => {
  await control.resync.all();
  await empty();
  expect(await control.fill.run()).toMatchObject({ models: 1 });
  expect({ isThere: await isThere(), alerts: alerts() }).toEqual({ isThere: true, alerts: ["key_store_emptied"] });
  expect(await control.fill.run()).toBeNull();
});

it("fills once, with one alert, when several tell of it at once", async () => {
  await control.resync.all();
  await empty();
  const all = vi.spyOn(control.resync, "all");
  await Promise.all([control.fill.run(), control.fill.run({ told: true }), control.fill.run({ told: true })]);
  expect({ fills: all.mock.calls.length, alerts: alerts() }).toEqual({ fills: 1, alerts: ["key_store_emptied"] });
});

it("fills a store that went back to an older state", async () => {
  await control.resync.all();
  const newest = await mark();
  await empty("1");
  expect(await control.fill.run()).toMatchObject({ models: 1 });
  expect({ isThere: await isThere(), mark: await mark(), alerts: alerts() }).toEqual({
    isThere: true,
    mark: newest,
    alerts: ["key_store_emptied"],
  });
});

it("takes over from another replica by its job, and leaves the store to it when a Worker tells", async () => {
  await empty("filling by another");
  expect(await control.fill.run({ told: true })).toBeNull();
  expect(await isThere()).toBe(false);
  expect(await control.fill.run()).toMatchObject({ models: 1 });
});

it("is told by a Worker, which needs the internal token", async () => {
  await empty();
  const asked = async (token: string): Promise<number> =>
    (await control.app.request(FILL_PATH, { method: "POST", headers: { authorization: `Bearer ${token}` } })).status;
  expect(await asked("wrong")).toBe(404);
  expect(await isThere()).toBe(false);
  expect(await asked(INTERNAL_TOKEN)).toBe(202);
  await waitFor(mark, (text) => readyFloorOf(text) !== null);
  expect(await isThere()).toBe(true);
});

it("sets no mark for copies that were lost while the others were written", async () => {
  await control.resync.all();
  let isEmptied = false;
  const refresh = control.publisher.refresh.bind(control.publisher);
  control.publisher.refresh = async (hotKeys) => {
    await refresh(hotKeys);
    if (isEmptied || !hotKeys.includes(storeKeys.settings("boons"))) return;
    isEmptied = true;
    await empty();
  };
  await control.resync.all();
  expect({ isEmptied, isThere: await isThere(), floor: readyFloorOf(await mark()) }).toEqual({
    isEmptied: true,
    isThere: true,
    floor: expect.any(Number),
  });
});
