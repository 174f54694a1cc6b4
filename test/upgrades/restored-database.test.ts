/**
 * A database that is restored as it was before records changed, under Cells that remember the changes
 * (docs/recover.md#a-database-that-is-restored): one resync later every record of it is in force.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import type { Resynced } from "../../shared/schema/resync.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { type Postgres, startPostgres } from "../harness/postgres.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";

let folder: string;
let postgres: Postgres;
let upstream: TestUpstream;
let stack: Stack | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-restored-"));
  [postgres, upstream] = await Promise.all([startPostgres(), startTestUpstream()]);
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([postgres.stop(), upstream.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the gateway on its data folder, where its Cell keeps the revisions that it was told of. */
async function start(): Promise<Gateway> {
  stack = await startStack({ env: stackEnv(folder, { GATEWAY_DATABASE_URL: postgres.url("gateway") }) });
  return new Gateway(stack);
}

/** What an administrator of PostgreSQL does while no control service is connected. */
async function onServer(...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url("postgres") });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

async function statusOf(gateway: Gateway, minted: Minted): Promise<number> {
  const answer = await gateway.chat(minted);
  await answer.text();
  return answer.status;
}

it("serves every record again after one resync, and nothing that was made since", async () => {
  await onServer("CREATE DATABASE gateway");
  let gateway = await start();
  const [ofKey, ofTenant, ofModel, ofGroup, untouched, ofSettings] = [
    await gateway.mint(upstream.url),
    await gateway.mint(upstream.url),
    await gateway.mint(upstream.url),
    await gateway.mint(upstream.url),
    await gateway.mint(upstream.url),
    await gateway.mint(upstream.url, "plain", { boons: ["structured_output"] }),
  ] as const;
  await gateway.must("POST", "/fairshare/groups", { name: "gold", weight: 200 });
  await gateway.must("PATCH", `/tenants/${ofGroup.tenant.id}/group`, { fairshare_group: "gold" });
  await stack?.stop();
  await onServer("CREATE DATABASE dump TEMPLATE gateway");

  gateway = await start();
  await gateway.must("PUT", `/keys/${ofKey.key.id}/disabled`, { disabled: true });
  await gateway.must("PUT", `/tenants/${ofTenant.tenant.id}`, { description: "changed" });
  await gateway.must("PUT", `/models/${ofModel.model.id}`, {
    upstream_model: "plain",
    api_base: upstream.url,
    max_in_flight: 9,
  });
  await gateway.must("PATCH", "/fairshare/groups/gold/weight", { weight: 300 });
  await gateway.must("PUT", "/settings/boons", { structured_output_enabled: true });
  const since = await gateway.mint(upstream.url);
  for (const minted of [ofTenant, ofModel, ofGroup, ofSettings, untouched, since])
    expect(await statusOf(gateway, minted)).toBe(200);
  await stack?.stop();
  await onServer("DROP DATABASE gateway", "ALTER DATABASE dump RENAME TO gateway");

  gateway = await start();
  // what the copies of the restored records are, the Cell knows better
  for (const minted of [ofKey, ofTenant, ofModel, ofGroup, ofSettings])
    expect(await statusOf(gateway, minted)).toBe(503);
  expect(await statusOf(gateway, untouched)).toBe(200);

  await gateway.must<Resynced>("POST", "/resync");
  for (const minted of [ofKey, ofTenant, ofModel, ofGroup, ofSettings, untouched])
    expect(await statusOf(gateway, minted)).toBe(200);
  expect(await statusOf(gateway, since)).toBe(401);

  // a change counts as newer than all of it
  await gateway.must("PUT", `/keys/${ofKey.key.id}/disabled`, { disabled: true });
  expect(await statusOf(gateway, ofKey)).toBe(403);
});
