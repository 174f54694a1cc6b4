import { describe, expect, it } from "vitest";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { RequestCounters, readCounters } from "./request-counters.ts";

describe("what a cell counts", () => {
  it("is the same when it was stored and is added", () => {
    const before = new RequestCounters();
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
    before.count({ ...row, request_id: "b", admission: "rejected", status_code: 404 }, { retry: 2, exhausted: 1 });
    before.count({ ...row, request_id: "c", cache_status: "miss", status_code: 200 });
    before.count({ ...row, request_id: "d", cache_status: "hit", status_code: 200, input_tokens: 5, output_tokens: 6 });
    const after = new RequestCounters();
    const saved = readCounters(JSON.stringify(before.save()));
    if (saved !== null) after.add(saved);
    expect(after.families()).toEqual(before.families());
  });

  it.each(
    Object.entries(new RequestCounters().save()).flatMap(([name, zero]) =>
      Array.isArray(zero) || typeof zero === "number"
        ? [{ path: [name], zero }]
        : Object.entries(zero).map(([part, none]) => ({ path: [name, part], zero: none })),
    ),
  )("keeps the counters of a version that did not save $path", ({ path: [name = "", part], zero }) => {
    const counters = new RequestCounters();
    counters.count({ ...zeroUsageRow("a", 0), status_code: 200, upstream_status: 200, input_tokens: 3, ttft_ms: 7 });
    const full: Record<string, unknown> = counters.save();
    const { [name]: whole, ...others } = full;
    const { [part ?? ""]: _left, ...parts } = whole as Record<string, unknown>;
    const saved = readCounters(JSON.stringify(part === undefined ? others : { ...others, [name]: parts }));
    expect(saved).toEqual({ ...others, [name]: part === undefined ? zero : { ...parts, [part]: zero } });
  });

  it("reads nothing of another form", () => {
    const other = { ...new RequestCounters().save(), input: "3" };
    expect([null, "1", "[]", JSON.stringify(other)].map(readCounters)).toEqual([null, null, null, null]);
  });

  it("shows every outcome of upstream attempts from the start, and counts a request once", () => {
    const counters = new RequestCounters();
    const shown = () =>
      counters
        .families()
        .find(({ name }) => name === "gateway_upstream_attempts_total")
        ?.samples.map((sample) => [sample.labels["outcome"], sample.value]);
    expect(shown()?.map(([, value]) => value)).toEqual([0, 0, 0, 0, 0]);
    const row = zeroUsageRow("a", 0);
    for (let handedIn = 0; handedIn < 2; handedIn += 1) counters.count(row, { success: 1, retry: 2, failover: 1 });
    expect(shown()).toEqual([
      ["success", 1],
      ["retry", 2],
      ["timeout", 0],
      ["failover", 1],
      ["exhausted", 0],
    ]);
  });

  it("counts a request once that is among the latest ten thousand", () => {
    const counters = new RequestCounters();
    const count = (id: number) => counters.count({ ...zeroUsageRow(`r${id}`, 0), input_tokens: 1 });
    const counted = () =>
      counters.families().find(({ name }) => name === "gateway_input_tokens_total")?.samples[0]?.value;
    for (let id = 0; id < 25_000; id += 1) count(id);
    for (let id = 15_000; id < 25_000; id += 1) count(id);
    expect(counted()).toBe(25_000);
    for (let id = 14_999; id > 14_989; id -= 1) count(id);
    expect(counted()).toBe(25_010);
  });

  it("shows lookups in the response cache, and what its answers saved", () => {
    const counters = new RequestCounters();
    const row = { ...zeroUsageRow("a", 0), status_code: 200, input_tokens: 5, output_tokens: 6 };
    counters.count({ ...row, cache_status: "hit" });
    counters.count({ ...row, request_id: "b", cache_status: "miss" });
    counters.count({ ...row, request_id: "c" });
    const shown = counters.families().filter(({ name }) => name.startsWith("gateway_cache_"));
    expect(shown.flatMap(({ samples }) => samples.map(({ labels, value }) => [labels["result"], value]))).toEqual([
      ["hit", 1],
      ["miss", 1],
      [undefined, 11],
    ]);
  });
});
