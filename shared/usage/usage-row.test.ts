/** The consequences of the description of a usage row. */
import { describe, expect, expectTypeOf, it } from "vitest";
import { type OperatorField, type RequestType, USAGE_ROW_FIELDS, type UsageRow, zeroUsageRow } from "./usage-row.ts";

describe("the description of a usage row", () => {
  it("gives each field its exact type", () => {
    expectTypeOf<keyof UsageRow>().toEqualTypeOf<keyof typeof USAGE_ROW_FIELDS>();
    expectTypeOf<UsageRow["request_id"]>().toEqualTypeOf<string>();
    expectTypeOf<UsageRow["request_type"]>().toEqualTypeOf<RequestType>();
    expectTypeOf<UsageRow["admission"]>().toEqualTypeOf<"fast" | "queued" | "rejected" | "boon" | "batch">();
    expectTypeOf<UsageRow["status_code"]>().toEqualTypeOf<number>();
    expectTypeOf<UsageRow["cost_usd"]>().toEqualTypeOf<number>();
  });

  it("says which fields only operators see", () => {
    expectTypeOf<OperatorField>().toEqualTypeOf<
      | "attempts"
      | "cell"
      | "endpoint"
      | "energy_cost_usd"
      | "estimated_tokens"
      | "upstream_model"
      | "upstream_status"
      | "weight"
    >();
  });

  it("makes a zero row whose fields its schemas take, in the order of the columns", () => {
    const zero = zeroUsageRow("0193f1d2-0000-4000-8000-000000000001", 5);
    expect(Object.keys(zero)).toEqual(Object.keys(USAGE_ROW_FIELDS));
    expect(zero).toMatchObject({ request_id: "0193f1d2-0000-4000-8000-000000000001", ts_ms: 5 });
    for (const [name, { value }] of Object.entries(USAGE_ROW_FIELDS))
      expect({ name, taken: value.safeParse(zero[name as keyof UsageRow]).success }).toEqual({ name, taken: true });
  });
});
