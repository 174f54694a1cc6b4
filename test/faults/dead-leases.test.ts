/**
 * Leases of a Cell that was killed come back by themselves (docs/rules/budgets.md#lost-leases): no request, no read and no
 * restart has to remind the tenant's budget object of them.
 *
 * @module-tag long
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import type { Checkpoint } from "../../edge/domain/budget/stored.ts";
import { startStack } from "../../infra/local/stack.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

/** How many leases the one budget object of a stack waits for, from its disk: a call to the object would wake it. */
function outstandingLeases(folder: string): number {
  const objects = join(folder, "objects/gateway-TenantBudget");
  const file = readdirSync(objects).find((name) => /^[0-9a-f]+\.sqlite$/.test(name));
  const db = new DatabaseSync(join(objects, file ?? ""), { readOnly: true });
  try {
    const text = (sql: string) =>
      db
        .prepare(sql)
        .all()
        .map(({ value }) => String(value));
    const granted = text("SELECT value FROM grants");
    const [tenant] = text("SELECT value FROM meta WHERE name = 'tenant'");
    const { lives } = JSON.parse(tenant ?? '{"lives":[]}') as Pick<Checkpoint["tenant"], "lives">;
    return granted.length + lives.flatMap(({ leases }) => leases).filter(({ settled }) => !settled).length;
  } finally {
    db.close();
  }
}

it("what a killed Cell held is free for the next request, which comes minutes later", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-dead-leases-"));
  const upstream = await startTestUpstream();
  const stack = await startStack({ env: stackEnv(folder) });
  try {
    const gateway = new Gateway(stack);
    const minted = await gateway.mint(upstream.url);
    const caps = { budget_tokens: null, budget_cost_usd: 1, budget_period: "lifetime" };
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, caps);
    // 6 input tokens and 9 output tokens are 0.096 USD at the prices of a minted model.
    const status = async () => {
      const response = await gateway.chat(minted, { body: { max_tokens: 9 } });
      await response.text();
      return response.status;
    };
    const served: number[] = [];
    for (let at = 0; at < 3; at += 1) served.push(await status());
    expect(served).toEqual([200, 200, 200]);
    const workerd = stack.parts.get("workerd");
    const pid = workerd?.pid ?? null;
    process.kill(pid ?? 0, "SIGKILL");
    await startedAgain(workerd, pid);
    expect(outstandingLeases(folder)).toBeGreaterThan(0);
    await waitFor(
      () => outstandingLeases(folder),
      (leases) => leases === 0,
    );
    const usage = await gateway.must("GET", `/tenants/${minted.tenant.id}/budget/usage`);
    // Three requests of 33 tokens, 0.231 USD each.
    expect(usage).toMatchObject({ used_cost_usd: 0.693, reserved_cost_usd: 0 });
    expect(await status()).toBe(200);
  } finally {
    await stack.stop();
    await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
