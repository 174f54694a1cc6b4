import { expect, it } from "vitest";
import { withNames } from "./with-names.ts";

const names = new Map([
  ["t-1", "acme"],
  ["k-1", ""],
]);

it("names tenants in details, old and new values and lists; what has no name keeps its id", () => {
  const detail = {
    tenant_id: "t-1",
    key_id: "k-1",
    count: 2,
    changed: { tenant_id: ["t-1", "t-2"], ids: [["t-1"], []] },
  };
  expect(withNames(detail, names)).toEqual({
    tenant_id: "acme",
    key_id: "k-1",
    count: 2,
    changed: { tenant_id: ["acme", "t-2"], ids: [["acme"], []] },
  });
});

it("leaves details without changes as they are", () => {
  expect(withNames({ reason: "none", changed: undefined }, names)).toEqual({ reason: "none", changed: undefined });
});
