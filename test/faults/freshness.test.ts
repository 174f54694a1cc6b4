/**
 * The guarantee of a confirmed change, while the data plane is restarted or stalled (docs/rules/freshness.md#revisions,
 * docs/rules/freshness.md#write-path).
 */
import { describe, expect, it } from "vitest";
import { useBridgedStack } from "../harness/bridged-stack.ts";
import { busyClients, statusOf, verdictOn } from "../harness/busy-clients.ts";
import type { Minted } from "../harness/gateway.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const upstream = useStarted(startTestUpstream);

// With one process the isolates die together with the objects; with several processes they survive the objects and keep
// what they have read.
const disabledUnderLoad = (workers: number): void => {
  const bridged = useBridgedStack(workers);
  const runtime = (): number => bridged.stack.parts.get("workerd")?.pid ?? 0;

  /** Kills the process with the objects and waits until it serves again. */
  async function restart(): Promise<void> {
    const pid = runtime();
    process.kill(pid, "SIGKILL");
    await startedAgain(bridged.stack.parts.get("workerd"), pid);
  }

  async function setDisabled(minted: Minted, disabled: boolean): Promise<string | null> {
    const response = await bridged.gateway.admin("PUT", `/keys/${minted.key.id}/disabled`, { disabled });
    expect(response.status).toBe(200);
    await response.text();
    return response.headers.get("x-gateway-sync");
  }

  /** Disables or enables the key, and checks that every cell has confirmed the change. */
  async function confirmDisabled(minted: Minted, disabled: boolean): Promise<void> {
    await bridged.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled });
  }

  it("stays refused through a restart of the Cell, and is served at once after it is enabled", async () => {
    const minted = await bridged.gateway.mint(upstream().url, "delay=5");
    const clients = busyClients(bridged.gateway, minted, 50);
    await clients.served(100);
    await confirmDisabled(minted, true);
    await restart();
    expect(await clients.afterNow()).not.toContain(200);
    expect(await verdictOn(bridged.gateway, minted)).toBe(403);
    await confirmDisabled(minted, false);
    expect(await verdictOn(bridged.gateway, minted)).toBe(200);
  });

  it("stays refused through a restart of the Cell when the store still holds the earlier record", async () => {
    const minted = await bridged.gateway.mint(upstream().url);
    expect(await verdictOn(bridged.gateway, minted)).toBe(200);
    const storeReturns = await bridged.storeLeaves();
    expect(await setDisabled(minted, true)).toBe("pending");
    await restart();
    expect(await statusOf(bridged.gateway, minted)).toBe(503);
    await storeReturns();
    const statuses: number[] = [];
    await waitFor(
      async () => {
        statuses.push(await statusOf(bridged.gateway, minted));
        return statuses.at(-1);
      },
      (status) => status === 403,
    );
    expect(statuses).not.toContain(200);
  });

  it("is pending while the Cell is stopped, and the key is refused when the Cell resumes", {
    tags: ["check"],
  }, async () => {
    const minted = await bridged.gateway.mint(upstream().url);
    expect(await verdictOn(bridged.gateway, minted)).toBe(200);
    const pid = runtime();
    process.kill(pid, "SIGSTOP");
    try {
      expect(await setDisabled(minted, true)).toBe("pending");
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await waitFor(
      async () => await statusOf(bridged.gateway, minted),
      (status) => status === 403,
    );
    await confirmDisabled(minted, false);
    expect(await verdictOn(bridged.gateway, minted)).toBe(200);
  });
};
describe("a key that is disabled under load, 1 Worker process", () => disabledUnderLoad(1));
describe("a key that is disabled under load, 3 Worker processes", { tags: ["long"] }, () => disabledUnderLoad(3));
