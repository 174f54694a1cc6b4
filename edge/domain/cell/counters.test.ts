import { describe, expect, it } from "vitest";
import { Counters } from "./counters.ts";

describe("what a cell counts", () => {
  it("goes on over a rest of the object", () => {
    const before = new Counters();
    before.count({
      admission: "fast",
      status_code: 200,
      input_tokens: 3,
      output_tokens: 4,
      ttft_ms: 5,
      total_ms: 6,
      upstream_status: 200,
    } as never);
    before.count({
      admission: "rejected",
      status_code: 499,
      input_tokens: 0,
      output_tokens: 0,
      ttft_ms: 0,
      total_ms: 1,
      upstream_status: 0,
    } as never);
    const after = new Counters();
    after.restore(before.save());
    expect(after.families()).toEqual(before.families());
  });

  it("ignores what was saved in another form", () => {
    const counters = new Counters();
    counters.restore('{"requests":5}');
    expect(counters.families()).toEqual(new Counters().families());
  });
});
