/** What is lost with a store, and what comes back without it (docs/recover.md#what-is-lost): each test loses one for good. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { Unpacked } from "./unpacked.ts";

const [FIXTURE = ""] = globSync("test/fixtures/data-folder-*.tar.br", { cwd: join(import.meta.dirname, "../..") });

let upstream: TestUpstream;
let folder: Unpacked;

beforeAll(async () => {
  upstream = await startTestUpstream();
});
afterAll(async () => await upstream.close());
beforeEach(() => {
  folder = new Unpacked(FIXTURE);
});
afterEach(async () => await folder.remove());

it("without the rows of ClickHouse requests are served, and budgets count the new rows", async () => {
  folder.lose("clickhouse");
  const gateway = await folder.start();
  await folder.budgetIs(gateway, 0);
  await folder.moveUpstream(gateway, upstream.url);
  await folder.budgetIs(gateway, await folder.tokensOf(gateway, await folder.serve(gateway, 3)));
});

it("without the Durable Objects the budgets are counted again from the rows", async () => {
  folder.lose("objects");
  const gateway = await folder.start();
  await folder.budgetIs(gateway, folder.contents.usedTokens);
  await folder.moveUpstream(gateway, upstream.url);
  const ids = [...folder.contents.requestIds, ...(await folder.serve(gateway, 3))];
  await folder.budgetIs(gateway, await folder.tokensOf(gateway, ids));
});

it("without PostgreSQL nobody is served, until a backup brings keys, models and budgets back", async () => {
  const before = await folder.start();
  const backup = await before.must<object>("GET", "/backup/export");
  await folder.stop();
  folder.lose("postgres");
  const gateway = await folder.start();
  expect((await folder.ask(gateway))[0]).toBe(401);
  await gateway.must("POST", "/backup/restore", backup);
  await folder.moveUpstream(gateway, upstream.url);
  const ids = [...folder.contents.requestIds, ...(await folder.serve(gateway, 3))];
  await folder.budgetIs(gateway, await folder.tokensOf(gateway, ids));
  expect((await folder.ask(gateway, folder.contents.disabledSecret))[0]).toBe(403);
});
