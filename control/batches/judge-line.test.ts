/** What answers mean for lines (docs/rules/batches.md#repeats). */
import { describe, expect, it } from "vitest";
import { judged } from "./judge-line.ts";

const line = { batchId: "b2c7f2f0-0000-4000-8000-000000000001", n: 7, tries: 1, requestId: "r", cell: "eu" };
const answerOf = (status: number, code = "") => ({
  status,
  text: JSON.stringify(code === "" ? {} : { error: { code } }),
  waitedMs: 0,
  retryAfterMs: null,
});

describe("the answer to a line", () => {
  it.each([
    [200, "", 1, "completed"],
    [400, "validation_failed", 1, "failed"],
    [403, "tenant_budget_exhausted", 1, "failed"],
    [403, "tenant_not_active", 1, "failed"],
    [403, "outside_access_window", 99, "waiting"],
    [429, "token_budget_exceeded", 99, "waiting"],
    [503, "gateway_stopping", 99, "waiting"],
    [499, "", 99, "waiting"],
    [502, "upstream_failed", 4, "waiting"],
    [502, "upstream_failed", 5, "failed"],
    [429, "", 5, "failed"],
  ])("%i %s at try %i: the line is %s", (status, code, tries, state) => {
    expect(judged({ ...line, tries }, answerOf(status, code)).state).toBe(state);
  });

  it("that does not exist lets the line run again", () => {
    expect(judged(line, null)).toMatchObject({ state: "waiting", status: null, answer: null });
  });
});
