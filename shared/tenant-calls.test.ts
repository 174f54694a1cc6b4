/** Calls under way leave room for tenants without calls (docs/rules/batches.md#routes). */
import { expect, it } from "vitest";
import { TenantCalls } from "./tenant-calls.ts";

it("a tenant has few calls under way, all together not many, and the first of a tenant always passes", () => {
  const calls = new TenantCalls({ inAll: 5, ofTenant: 2 });
  const begun = (tenant: string) => Array.from({ length: 4 }, () => calls.begin(tenant)).filter((end) => end !== null);
  const [first, second] = [begun("a"), begun("b")];
  const crowded = { c: begun("c").length, d: begun("d").length };
  expect({ a: first.length, b: second.length, ...crowded }).toEqual({ a: 2, b: 2, c: 1, d: 1 });
  const [one, other] = first;
  one?.();
  one?.();
  expect(begun("a")).toHaveLength(0);
  other?.();
  expect(begun("a")).toHaveLength(1);
});
