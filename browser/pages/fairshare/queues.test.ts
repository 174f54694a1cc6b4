/** A queue is found again by its name in the address, whatever its tenant and model are called. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FairshareLive, WaitingQueue } from "../../../shared/schema/load.ts";
import { listedQueues, matchingQueues, queueId, queueNamed, tenantNameIn } from "./queues.ts";

const queue = (tenant: string, model: string): WaitingQueue => ({
  tenant_id: "7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e",
  tenant,
  group: "default",
  model,
  queued: 1,
  oldest_wait_ms: 1000,
  reason: "cell_full",
});

describe("a queue's name", () => {
  it("leads back to its tenant and model", () => {
    fc.assert(
      fc.property(fc.uuid(), fc.string({ minLength: 1 }), (tenantId, model) => {
        expect(queueNamed(queueId({ tenant_id: tenantId, model }))).toEqual({ tenantId, model });
      }),
    );
  });

  it.each(["", "capacity", "/model", "tenant/"])("is not %j", (id) => {
    expect(queueNamed(id)).toBeNull();
  });
});

describe("the list", () => {
  it("names each entry once, whatever its reason", () => {
    const one = queue("a", "m");
    const keys = listedQueues([one, { ...one, reason: "group_share" }, queue("a", "n")]).map(({ key }) => key);
    expect(new Set(keys).size).toBe(3);
    expect(listedQueues([{ ...one, reason: "tenant_cap" }])[0]?.key).toBe(keys[0]);
  });
});

describe("the filter", () => {
  const queues = [queue("Acme", "llama"), queue("beta", "Qwen/7b")];

  it.each([
    ["", 2],
    ["  ACME ", 1],
    ["qwen/", 1],
    ["default", 2],
    ["x", 0],
  ])("%j finds %d", (text, count) => {
    expect(matchingQueues(queues, { text, tenantId: undefined })).toHaveLength(count);
  });

  it("keeps the queues of one tenant", () => {
    const other = { ...queue("gamma", "llama"), tenant_id: "0c7f8f7e-4a39-4c8e-8f3b-3d8f0d5a6b11" };
    const all = [...queues, other];
    const tenantId = other.tenant_id.toUpperCase();
    expect(matchingQueues(all, { text: "", tenantId })).toEqual([other]);
    expect(matchingQueues(all, { text: "qwen", tenantId })).toEqual([]);
    expect(matchingQueues(all, { text: "llama", tenantId: undefined })).toHaveLength(2);
    expect(matchingQueues(all, { text: "", tenantId: "no tenant's" })).toEqual([]);
  });

  it("names its tenant as the live view does", () => {
    const running = { tenant_id: "0c7f8f7e-4a39-4c8e-8f3b-3d8f0d5a6b11", name: "gamma" };
    const live = { waiting: queues, tenants: [running] } as unknown as FairshareLive;
    const named = [queues[0]?.tenant_id ?? "", running.tenant_id, "gone"].map((id) => tenantNameIn(live, id));
    expect(named).toEqual(["Acme", "gamma", "gone"]);
  });
});
