import { describe, expect, it } from "vitest";
import type { WaitingQueue } from "../../../shared/schema/load.ts";
import { helpfulLimit } from "./helpful-limit.ts";

describe("the limit whose change helps", () => {
  const held = (reason: WaitingQueue["reason"], group: string, tenant_id = "t"): WaitingQueue => ({
    tenant: "a",
    model: "m",
    queued: 1,
    oldest_wait_ms: 1000,
    reason,
    group,
    tenant_id,
  });

  it("is the slots where a share holds up those from whom a larger weight would take", () => {
    const science = held("group_share", "science");
    const tenant = held("tenant_share", "science");
    expect({
      alone: helpfulLimit(science, [science, held("cell_full", "default")]),
      groups: helpfulLimit(science, [science, held("group_share", "default")]),
      tenants: helpfulLimit(tenant, [tenant, held("tenant_share", "science", "u")]),
      tenantsApart: helpfulLimit(tenant, [tenant, held("tenant_share", "default", "u")]),
      cap: helpfulLimit(held("tenant_cap", "science"), [held("tenant_cap", "default", "u")]),
    }).toEqual({
      alone: "group_share",
      groups: "cell_full",
      tenants: "cell_full",
      tenantsApart: "tenant_share",
      cap: "tenant_cap",
    });
  });
});
