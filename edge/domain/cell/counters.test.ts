import { describe, expect, it } from "vitest";
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import { Counters } from "./counters.ts";

describe("what a cell counts", () => {
  it("goes on over a rest of the object", () => {
    const before = new Counters();
    const row = zeroUsageRow("a", 0);
    before.count({
      ...row,
      admission: "fast",
      status_code: 200,
      upstream_status: 200,
      input_tokens: 3,
      output_tokens: 4,
      ttft_ms: 7,
      total_ms: 40,
    });
    before.count({ ...row, request_id: "b", admission: "rejected", status_code: 404 });
    const after = new Counters();
    after.restore(before.save());
    expect(after.families()).toEqual(before.families());
  });
});
