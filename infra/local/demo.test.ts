/**
 * The demo of a data folder that was interrupted, copied, or opened on another database; it prevents no start.
 *
 * @module-tag check
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAdaptorServer } from "@hono/node-server";
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { ADMIN_TOKEN, startControl, type TestControl } from "../../test/harness/control.ts";
import { DEMO_KEY_FILE, demoOrNone, lastDemoPort } from "./demo.ts";

let control: TestControl;
let adminUrl: string;
let stop: () => void;
beforeAll(async () => {
  control = await startControl();
  const server = createAdaptorServer({ fetch: control.app.fetch }).listen(0, "127.0.0.1");
  await once(server, "listening");
  adminUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stop = () => void server.close();
});
afterAll(async () => {
  stop();
  await control.close();
});

interface Named {
  readonly id: string;
  readonly name: string;
}
const tenants = async () =>
  (await control.must<readonly Named[]>("GET", "/tenants")).filter(({ name }) => name === "demo");
const keys = async () => await control.must<readonly Named[]>("GET", `/tenants/${(await tenants())[0]?.id}/keys`);

let dataDir: string;
const warned: string[] = [];
const start = async (databaseUrl = "pglite:/a/postgres", more: object = {}) =>
  await demoOrNone(
    { adminUrl, adminToken: ADMIN_TOKEN, dataDir, databaseUrl, apiBase: "http://127.0.0.1:9/v1", ...more },
    (line) => warned.push(line),
  );

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "demo-"));
  const folder = dataDir;
  onTestFinished(() => rmSync(folder, { recursive: true }));
  warned.length = 0;
  for (const { id } of await tenants()) await control.must("DELETE", `/tenants/${id}`);
  for (const { id } of await control.must<readonly Named[]>("GET", "/models"))
    await control.must("DELETE", `/models/${id}`);
});

it("keeps its key in a data folder whose database has another path or password", async () => {
  const first = await start();
  expect(first).toMatchObject({ made: true });
  const moved = { apiKey: first?.apiKey, model: "demo", made: false };
  expect({ copied: await start("pglite:/b/postgres"), again: await start("pglite:/b/postgres") }).toEqual({
    copied: moved,
    again: moved,
  });
  expect({ keys: (await keys()).length, warned }).toEqual({ keys: 1, warned: [] });
});

it.each([
  ["the key's file was removed", () => rmSync(join(dataDir, DEMO_KEY_FILE))],
  [
    "the start ended before it kept the key",
    () => {
      rmSync(join(dataDir, DEMO_KEY_FILE));
      rmSync(join(dataDir, "demo.json"));
    },
  ],
  ["half of its file was written", () => writeFileSync(join(dataDir, "demo.json"), '{"data', { mode: 0o600 })],
])("gets a new key in the tenant that it has when %s", async (_, interrupt) => {
  const first = await start();
  interrupt();
  expect(lastDemoPort(dataDir)).toBeTypeOf("number");
  const second = await start();
  expect(second).toMatchObject({ made: true, model: "demo" });
  expect(second?.apiKey).not.toBe(first?.apiKey);
  expect({ tenants: (await tenants()).length, keys: (await keys()).length, warned }).toEqual({
    tenants: 1,
    keys: 2,
    warned: [],
  });
});

it("is not created again after an operator has deleted it", async () => {
  await start();
  for (const { id } of await control.must<readonly Named[]>("GET", "/models"))
    await control.must("DELETE", `/models/${id}`);
  expect(await start()).toBeNull();
});

it("is left out with the reason in the log when the Management API refuses it", async () => {
  expect(await start("pglite:", { adminToken: "wrong" })).toBeNull();
  expect(warned.map((line) => JSON.parse(line) as unknown)).toEqual([
    { level: 40, event: "demo_not_set_up", reason: expect.stringMatching(/^POST \/models answered 401 /) },
  ]);
});
