/** A target is one address; an identifier never becomes another path. */
import { describe, expect, it } from "vitest";
import { targetAddress } from "./target-address.ts";

describe("the address of a target", () => {
  it("has the tenant in the path, and the rest as parameters", () => {
    expect(targetAddress({ page: "tenant", params: { tenant_id: "a/../b?c", tab: "budget" } })).toEqual({
      to: "/tenants/a%2F..%2Fb%3Fc",
      search: { tab: "budget" },
    });
    expect(targetAddress({ page: "logs", params: { model: "m" } })).toEqual({ to: "/logs", search: { model: "m" } });
  });

  it("without a tenant is the list of tenants", () => {
    expect(targetAddress({ page: "tenant", params: {} }).to).toBe("/tenants");
  });
});
