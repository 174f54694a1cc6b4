/** Every reason for which a queue waits has its words, for admins and for a tenant's people. */
import { describe, expect, it } from "vitest";
import { type FairshareLive, fairshareLiveSchema } from "../../shared/schema/load.ts";
import { explainCallWait, explainLoad, explainOwnCallWait, explainWaiting, loadText } from "./explain-waiting.ts";

describe("queues", () => {
  it("that a call is in, with what can go first and who holds the slots", () => {
    const queue = { tenant_id: "t", tenant: "acme", group: "default", model: "gpt", oldest_wait_ms: 9000 } as const;
    const slots = [
      { name: "beta", in_flight: 1 },
      { name: "idle", in_flight: 0 },
      { name: "acme", in_flight: 5 },
    ] as FairshareLive["tenants"];
    const live = (queued: number) =>
      ({
        global_in_flight: 6,
        max_in_flight: 6,
        tenants: slots,
        waiting: [{ ...queue, queued, reason: "cell_full" }],
      }) as unknown as FairshareLive;
    const call = { tenantId: "t", model: "gpt", waitedMs: 8000 };
    expect(explainCallWait(live(1), call)).toBe(
      "1 request of acme for gpt is waiting: every slot of the cell is in use. This request is first in the queue. 6 of 6 slots are in use: acme 5, beta 1.",
    );
    expect(explainCallWait(live(4), { ...call, tenantId: undefined, model: "auto" })).toContain(
      "Up to 3 requests of the queue can go first.",
    );
    for (const other of [{ tenantId: "u" }, { model: "phi" }, { waitedMs: 15_000 }, { waitedMs: -1 }])
      expect(explainCallWait(live(1), { ...call, ...other })).toBeNull();
  });

  it("that a tenant's people see say why, unless only younger requests wait", () => {
    const load = {
      in_flight: 2,
      queued: 3,
      oldest_wait_ms: 9000,
      waits_for: "shared_slots",
      batches_wait: false,
      slots_left: null,
    } as const;
    const said = "2 running, 3 waiting (longest 9 s). The gateway's slots, shared between tenants, are all in use.";
    expect([8000, 15_000, -1].map((waitedMs) => explainOwnCallWait(load, waitedMs))).toEqual([said, null, null]);
    expect(explainLoad({ ...load, queued: 0, oldest_wait_ms: null, waits_for: null })).toBe("2 running, 0 waiting.");
    expect(loadText(null, null)).toBe("– running, – waiting");
  });

  it.each(fairshareLiveSchema.shape.waiting.element.shape.reason.options)(
    "that wait for %s say why and what lets them go",
    (reason) => {
      const queue = {
        tenant_id: "t",
        tenant: "acme",
        group: "gold",
        model: "gpt",
        queued: 1,
        oldest_wait_ms: 5,
        reason,
      };
      const { reason: name, sentence, remedy } = explainWaiting(queue);
      for (const text of [name, sentence, remedy]) expect(text).toMatch(/^[^{}]+$/);
      expect(sentence).toContain("1 request of acme for gpt");
      expect(explainWaiting({ ...queue, queued: 2 }).sentence).toContain("2 requests of acme for gpt");
    },
  );
});
