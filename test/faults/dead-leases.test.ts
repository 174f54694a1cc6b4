/**
 * Leases of a Cell that was killed come back by themselves (docs/rules/budgets.md#lost-leases): no request, no read and no
 * restart has to remind the tenant's budget object of them.
 *
 * @module-tag long
 */
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { readStored } from "../../edge/domain/budget/authority/stored.ts";
import { Gateway } from "../harness/gateway.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

/**
 * How many leases the one budget object of a stack waits for; null: its disk cannot be read now. It is read from a copy of
 * the files, because a call to the object would wake it and a reader of the files themselves would lock them.
 */
function outstandingLeases(folder: string): number | null {
  const objects = join(folder, "objects/gateway-TenantBudget");
  const copy = mkdtempSync(join(tmpdir(), "gateway-budget-disk-"));
  try {
    for (const name of readdirSync(objects))
      if (/^[0-9a-f]+\.sqlite(-wal)?$/.test(name))
        copyFileSync(join(objects, name), join(copy, name.replace(/^[0-9a-f]+/, "budget")));
    const db = new DatabaseSync(join(copy, "budget.sqlite"));
    const values = (sql: string) =>
      db
        .prepare(sql)
        .all()
        .map(({ value }) => String(value));
    const [tenant = null] = values("SELECT value FROM meta WHERE name = 'tenant'");
    const { state } = readStored({ tenant, charged: null, keys: [], grants: values("SELECT value FROM grants") });
    db.close();
    const stored = (state.tenant?.lives ?? []).flatMap(({ leases }) => leases);
    const granted = state.grants.flatMap(({ leases }) => leases.map(({ lease }) => lease));
    return [...stored, ...granted].filter(({ settled }) => !settled).length;
  } catch {
    return null;
  } finally {
    rmSync(copy, { recursive: true });
  }
}

it("what a killed Cell held is free for the next request, which comes minutes later", async () => {
  const upstream = await startTestUpstream();
  const stack = await startTestStack();
  try {
    const gateway = new Gateway(stack);
    const minted = await gateway.mint(upstream.url);
    const caps = { budget_tokens: null, budget_cost_usd: 1, budget_period: "lifetime" };
    await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, caps);
    const status = async () => {
      const response = await gateway.chat(minted, { body: { max_tokens: 9 } });
      await response.text();
      return response.status;
    };
    expect(await status()).toBe(200);
    const workerd = stack.parts.get("workerd");
    const pid = workerd?.pid ?? null;
    process.kill(pid ?? 0, "SIGKILL");
    await startedAgain(workerd, pid);
    const readable = (leases: number | null) => leases !== null;
    expect(await waitFor(() => outstandingLeases(stack.dataDir), readable)).toBeGreaterThan(0);
    await waitFor(
      () => outstandingLeases(stack.dataDir),
      (leases) => leases === 0,
    );
    const usage = await gateway.must("GET", `/tenants/${minted.tenant.id}/budget/usage`);
    expect(usage).toMatchObject({ reserved_cost_usd: 0 });
    expect(await status()).toBe(200);
  } finally {
    await stack.stop();
    await upstream.close();
  }
});
