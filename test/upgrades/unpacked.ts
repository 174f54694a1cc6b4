/** A fixture that is unpacked for one test: a data folder, and what is asked of the gateways that are started on it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { expect } from "vitest";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { Gateway } from "../harness/gateway.ts";
import { waitFor } from "../harness/wait-for.ts";
import { CONTENTS_FILE, DATA_FOLDER, type FixtureContents, fixtureEnv, WORKER_FILE } from "./fixture-gateway.ts";

const ROOT = join(import.meta.dirname, "../..");

export class Unpacked {
  readonly contents: FixtureContents;
  readonly #folder: string;
  #stack: Stack | undefined;

  /** `fixture`: its path from the root of the repository. */
  constructor(fixture: string) {
    this.#folder = mkdtempSync(join(tmpdir(), "gateway-upgrade-"));
    execFileSync("tar", ["-x", "-C", this.#folder], { input: brotliDecompressSync(readFileSync(join(ROOT, fixture))) });
    this.contents = JSON.parse(readFileSync(join(this.#folder, CONTENTS_FILE), "utf8")) as FixtureContents;
  }

  /** The Worker of the version that wrote the folder, from the root of the repository. */
  get ownWorker(): string {
    return relative(ROOT, join(this.#folder, WORKER_FILE));
  }

  /** Starts today's launcher and control service on the folder, with today's Worker or another. */
  async start(workerEntry?: string): Promise<Gateway> {
    const env = fixtureEnv(this.#folder, this.contents.adminToken);
    this.#stack = await startStack({ env, ...(workerEntry === undefined ? {} : { workerEntry }) });
    return new Gateway(this.#stack);
  }

  async stop(): Promise<void> {
    await this.#stack?.stop();
  }

  lose(part: "postgres" | "clickhouse" | "objects"): void {
    rmSync(join(this.#folder, DATA_FOLDER, part), { recursive: true });
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The model answers from here on; the upstream that it had is gone. */
  async moveUpstream(gateway: Gateway, url: string): Promise<void> {
    await gateway.must("PUT", `/models/${this.contents.model.id}`, { upstream_model: "plain", api_base: url });
  }

  /** A request with a key: its status, its id, and the answer. */
  async ask(gateway: Gateway, secret = this.contents.secret): Promise<readonly [number, string, string]> {
    const answer = await gateway.chat({ secret, model: this.contents.model, mark: "upgraded" }, { stream: true });
    return [answer.status, answer.headers.get("x-gateway-request-id") ?? "", await answer.text()];
  }

  /** Sends requests with the old key, which must all be served; returns their ids. */
  async serve(gateway: Gateway, count: number): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const [status, id, text] = await this.ask(gateway);
      expect(status, text).toBe(200);
      ids.push(id);
    }
    return ids;
  }

  /** The tokens of the tenant's served requests, once there are as many rows as these; each has its row once. */
  async tokensOf(gateway: Gateway, requestIds: readonly string[]): Promise<number> {
    const path = `/usage/logs?tenant_id=${this.contents.tenant.id}&since_ms=${this.contents.sinceMs}&limit=200`;
    const rows = await waitFor(
      async () => (await gateway.must<readonly UsageLog[]>("GET", path)).filter((row) => row.status_code === 200),
      (found) => found.length >= requestIds.length,
    );
    expect(rows.map((row) => row.request_id).toSorted()).toEqual(requestIds.toSorted());
    return rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0);
  }

  /** Waits until the tenant has used so much of its budget: a budget that finds no ledger asks again after ten seconds. */
  async budgetIs(gateway: Gateway, tokens: number): Promise<void> {
    await waitFor(
      async () => await gateway.must<BudgetUsage>("GET", `/tenants/${this.contents.tenant.id}/budget/usage`),
      (usage) => usage.used_tokens === tokens,
    );
  }
}
