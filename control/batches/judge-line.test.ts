/** What answers mean for lines (docs/rules/batches.md#repeats), and the ids of their requests. */
import { describe, expect, it } from "vitest";
import { judged } from "./judge-line.ts";
import { lineRequestId } from "./line-sender.ts";

const line = { batchId: "b2c7f2f0-0000-4000-8000-000000000001", n: 7, tries: 1, cell: "eu" };
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

describe("the id of a line's request", () => {
  it("is a UUID of its own for each line and try, and always the same", () => {
    const ids = [line, { ...line, tries: 2 }, { ...line, n: 8 }].map(lineRequestId);
    expect(new Set(ids).size).toBe(3);
    expect(lineRequestId({ ...line })).toBe(ids[0]);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
