/** What answers mean for lines (docs/rules/batches.md#repeats). */
import { describe, expect, it } from "vitest";
import type { LineOutcome } from "../../shared/wire/batch-lines.ts";
import { classifyResult } from "./classify-result.ts";

const line = { batchId: "b2c7f2f0-0000-4000-8000-000000000001", n: 7, tries: 1, requestId: "r", cell: "eu" };
const answerOf = (status: number, code = "", outcome: LineOutcome | null = null) => ({
  outcome,
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
    [400, "token_budget_exceeded", 1, "failed"],
    [429, "token_budget_exceeded", 5, "failed"],
    [499, "", 4, "waiting"],
    [499, "", 5, "failed"],
    [502, "upstream_failed", 4, "waiting"],
    [502, "upstream_failed", 5, "failed"],
    [429, "", 5, "failed"],
  ])("%i %s at try %i: the line is %s", (status, code, tries, state) => {
    expect(classifyResult({ ...line, tries }, answerOf(status, code)).state).toBe(state);
  });

  it.each([
    [403, "outside_access_window"],
    [429, "token_budget_exceeded"],
    [503, "gateway_stopping"],
  ])("%i %s of the gateway itself passes, and does not count as a try", (status, code) => {
    const end = classifyResult({ ...line, tries: 99 }, answerOf(status, code, "refused"));
    expect({ state: end.state, tries: end.tries }).toEqual({ state: "waiting", tries: 98 });
  });

  it("that is too large ends it at once, and says so", () => {
    const end = classifyResult(line, answerOf(200, "", "too-large"));
    expect(end).toMatchObject({ state: "failed", status: 502 });
    expect(JSON.parse(end.answer ?? "")).toMatchObject({ error: { code: "answer_too_large" } });
  });

  it("that does not exist after the last try ends it", () => {
    expect(classifyResult({ ...line, tries: 5 }, null)).toMatchObject({ state: "failed", status: 500 });
  });

  it("that does not exist lets the line run again", () => {
    expect(classifyResult(line, null)).toMatchObject({ state: "waiting", status: null, answer: null });
  });
});
