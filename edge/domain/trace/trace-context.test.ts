import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childSpanId, traceContextOf, traceparentOf } from "./trace-context.ts";

const hex = () => "0123456789abcdef0123456789abcdef";
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

describe("the trace context of a request", () => {
  it("is the client's when it is well formed, and a new one otherwise", () => {
    expect(traceContextOf(`00-${TRACE}-${PARENT}-01`, hex)).toEqual({
      traceId: TRACE,
      spanId: "0123456789abcdef",
      parentSpanId: PARENT,
      sampled: true,
    });
    expect(traceContextOf(`00-${TRACE}-${PARENT}-00`, hex).sampled).toBe(false);
    expect(traceContextOf(`cc-${TRACE}-${PARENT}-01-later`, hex).traceId).toBe(TRACE);
    for (const bad of [
      null,
      "",
      "garbage",
      `ff-${TRACE}-${PARENT}-01`,
      `00-${TRACE}-${PARENT}-01-more`,
      `00-${"0".repeat(32)}-${PARENT}-01`,
      `00-${TRACE}-${"0".repeat(16)}-01`,
      `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    ])
      expect(traceContextOf(bad, hex)).toMatchObject({ traceId: hex(), parentSpanId: null, sampled: true });
  });

  it("names every child differently, and itself to the next hop", () => {
    const context = traceContextOf(null, hex);
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(5_000), { maxLength: 50 }), (positions) => {
        const ids = [context.spanId, ...positions.map((position) => childSpanId(context, position))];
        expect(new Set(ids).size).toBe(ids.length);
        for (const id of ids) expect(id).toMatch(/^[\da-f]{16}$/);
      }),
    );
    expect(traceparentOf(context, childSpanId(context, 0))).toBe(`00-${hex()}-0123456789abcdee-01`);
  });
});
