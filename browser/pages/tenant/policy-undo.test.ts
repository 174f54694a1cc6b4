/** A policy that was saved is taken back to what was there before. */
import { expect, it } from "vitest";
import { NO_POLICY, policyOf, undoPolicy } from "./policy-undo.ts";

it("takes a change of a policy back field by field", () => {
  const base = { action: "block", fail_open: false };
  const back = undoPolicy({ fail_open: true }, base);
  expect(policyOf(back)).toEqual({ fail_open: false });
});

it("turns a policy off again that was set where there was none", () => {
  expect(policyOf(undoPolicy({ action: "block", fail_open: false }, NO_POLICY))).toBeNull();
});
