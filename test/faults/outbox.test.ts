/**
 * Changes that a cell or the key-value store cannot take: the answer of the write says that it is pending, and the
 * outbox tries again until every cell and the store have the newest record (docs/rules/freshness.md#write-path).
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { useBridgedStack } from "../harness/bridged-stack.ts";
import { statusOf } from "../harness/busy-clients.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const bridged = useBridgedStack();
const upstream = useStarted(startTestUpstream);

/** Makes a write that cannot be confirmed. */
async function pending(method: string, path: string, body: object): Promise<void> {
  const response = await bridged.gateway.admin(method, path, body);
  await response.text();
  expect({ status: response.status, "x-gateway-sync": response.headers.get("x-gateway-sync") }).toEqual({
    status: 200,
    "x-gateway-sync": "pending",
  });
}

describe("a cell that was killed", () => {
  it("keeps its capacity, and gets the changes of the meantime when it is back", async () => {
    const { gateway, stack } = bridged;
    const minted = await gateway.mint(upstream().url);
    expect(await statusOf(gateway, minted)).toBe(200);
    await gateway.must("PUT", "/capacity", { max_in_flight: 3 });
    const pid = stack.parts.get("workerd")?.pid ?? 0;
    expect(pid).toBeGreaterThan(0);
    process.kill(pid, "SIGKILL");
    await pending("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    await startedAgain(stack.parts.get("workerd"), pid);
    await gateway.confirmed("the changes");
    expect(await statusOf(gateway, minted)).toBe(403);
    expect(await gateway.must("GET", "/capacity")).toMatchObject({ max_in_flight: 3, cell: "local" });
    await gateway.must("PUT", "/capacity", { max_in_flight: null });
    await gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: false });
    expect(await statusOf(gateway, minted)).toBe(200);
  });
});

describe("a store that is down", () => {
  it("gets the newest of several changes of one record, never an earlier one", async () => {
    const { gateway } = bridged;
    const minted = await gateway.mint(upstream().url);
    expect(await statusOf(gateway, minted)).toBe(200);
    const storeComesBack = await bridged.storeLeaves();
    const { api_base, id } = minted.model;
    for (const upstream_model of ["status=418", "status=409", "status=404"])
      await pending("PUT", `/models/${id}`, { upstream_model, api_base });
    expect(await statusOf(gateway, minted)).toBe(503);
    await storeComesBack();
    const seen = new Set<number>();
    await waitFor(
      async () => {
        const status = await statusOf(gateway, minted);
        seen.add(status);
        return status;
      },
      (status) => status === 404,
    );
    expect([...seen].filter((status) => status !== 503)).toEqual([404]);
    await gateway.confirmed("the changes");
    await gateway.must("PUT", `/models/${id}`, { upstream_model: "plain", api_base });
    expect(await statusOf(gateway, minted)).toBe(200);
  });
});
