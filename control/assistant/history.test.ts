import { describe, expect, it } from "vitest";
import { type HistoryMessage, recentHistory } from "./history.ts";

describe("the history", () => {
  const said = (content: string): HistoryMessage => ({ role: "user", content });
  const result = (content: string): HistoryMessage => ({ role: "tool", tool_call_id: "c", content });

  it("keeps the newest exchanges that fit, none of them in part", () => {
    const old = [said("1"), result("x".repeat(80_000))];
    const recent = [said("2"), result("y".repeat(80_000)), said("3")];
    expect(recentHistory([...old, ...recent])).toEqual(recent);
  });

  it("always keeps the last exchange", () => {
    const last = [said("q"), result("x".repeat(120_000)), result("y")];
    expect(recentHistory([said("1"), ...last])).toEqual(last);
  });

  it("cuts one long exchange to its question and its newest calls with results, 1 MiB in all", () => {
    const called = (nth: number): HistoryMessage => ({
      role: "assistant",
      content: "",
      tool_calls: [{ id: `c${nth}`, type: "function", function: { name: "n", arguments: "x".repeat(100_000) } }],
    });
    const long = [
      said("q"),
      ...Array.from({ length: 40 }, (_, nth) => [called(nth), result("\u0000".repeat(5000))]).flat(),
    ];
    const kept = recentHistory(long);
    expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThan(1024 * 1024 + 1000);
    expect({ first: kept[0], count: kept.length }).toEqual({ first: said("q"), count: 17 });
    expect(kept.slice(1)).toEqual(long.slice(-16));
  });
});
