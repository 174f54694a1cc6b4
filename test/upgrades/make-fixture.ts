/**
 * `npm run fixture:data-folder`: runs this version with embedded stores, serves requests, stops it, and packs its data folder with
 * its Worker (docs/contributing.md#releases). Later versions are started on it (data-folder.test.ts).
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { startStack } from "../../infra/local/stack.ts";
import { bundleWorker } from "../../infra/local/workerd/bundle.ts";
import { dataFolderFixture } from "../../infra/release/fixture-path.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import { Gateway } from "../harness/gateway.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { CONTENTS_FILE, DATA_FOLDER, type FixtureContents, fixtureEnv, WORKER_FILE } from "./fixture-gateway.ts";

const ROOT = join(import.meta.dirname, "../..");
const REQUESTS = 12;
const ARCHIVE_MAX_BYTES = 512 * 1024 * 1024;
const ADMIN_TOKEN = "admin-token-of-the-fixture-data-folder";
/** The longest that is allowed: the rows must be there whenever the test runs. */
const RETENTION_DAYS = 36_500;

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
const folder = mkdtempSync(join(tmpdir(), "gateway-fixture-"));
mkdirSync(join(folder, DATA_FOLDER), { mode: 0o700 });
const upstream = await startTestUpstream();
const stack = await startStack({ env: fixtureEnv(folder, ADMIN_TOKEN) });
try {
  const contents = await fill();
  await stack.stop();
  writeFileSync(join(folder, CONTENTS_FILE), `${JSON.stringify(contents, null, 2)}\n`);
  writeFileSync(join(folder, WORKER_FILE), (await bundleWorker(true)).code);
  const target = join(ROOT, dataFolderFixture(version));
  const files = [CONTENTS_FILE, WORKER_FILE, DATA_FOLDER];
  // the Worker as the launcher had bundled it is made again by each start
  const options = ["--owner=0", "--group=0", `--exclude=${DATA_FOLDER}/worker`, "-C", folder];
  const tar = execFileSync("tar", ["-c", ...options, ...files], { maxBuffer: ARCHIVE_MAX_BYTES });
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN } = constants;
  // the largest window, because a database repeats itself over megabytes
  const params = { [BROTLI_PARAM_QUALITY]: 11, [BROTLI_PARAM_LGWIN]: 24 };
  writeFileSync(target, brotliCompressSync(tar, { params }));
  process.stdout.write(`${dataFolderFixture(version)}: ${(statSync(target).size / 1024).toFixed(0)} KiB\n`);
} finally {
  await stack.stop();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
}

async function fill(): Promise<FixtureContents> {
  const gateway = new Gateway({ ...stack, adminToken: ADMIN_TOKEN });
  const sinceMs = Date.now();
  await gateway.must("PUT", "/settings/usage-retention", { days: RETENTION_DAYS });
  const minted = await gateway.mint(upstream.url, "plain", { api_key: "credential of the upstream" });
  const { tenant, key, secret, model } = minted;
  await gateway.must("PATCH", `/tenants/${tenant.id}/budget`, { budget_tokens: 1_000_000, budget_period: "lifetime" });
  const other = await gateway.must<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, { name: "disabled" });
  await gateway.must("PUT", `/keys/${other.key.id}/disabled`, { disabled: true });
  const requestIds: string[] = [];
  for (let count = 0; count < REQUESTS; count += 1) {
    const answer = await gateway.chat(minted, { stream: count % 2 === 0 });
    await answer.text();
    if (!answer.ok) throw new Error(`a request was answered ${answer.status}`);
    requestIds.push(answer.headers.get("x-gateway-request-id") ?? "");
  }
  const rows = await waitFor(
    async () => await gateway.rows(tenant.id),
    (found) => found.length === REQUESTS,
  );
  const tokens = rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0);
  const { used_tokens: usedTokens } = await waitFor(
    async () => await gateway.must<BudgetUsage>("GET", `/tenants/${tenant.id}/budget/usage`),
    (usage) => usage.used_tokens === tokens,
  );
  return {
    version,
    sinceMs,
    tenant: { id: tenant.id, name: tenant.name },
    key,
    secret,
    disabledSecret: other.secret,
    model: { id: model.id, model_name: model.model_name },
    requestIds,
    usedTokens,
    adminToken: ADMIN_TOKEN,
  };
}
