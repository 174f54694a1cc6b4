import { describe, expect, it } from "vitest";
import { boonEvent, EventCounters } from "./event-counters.ts";

const call = (server: string, status: string, times = 1) => ({
  metric: "gateway_mcp_requests_total" as const,
  labels: [server, status],
  times,
});

const shown = (tallies: EventCounters, metric: string) =>
  tallies
    .families()
    .find(({ name }) => name === metric)
    ?.samples.map(({ labels, value }) => [labels, value]);

describe("tallies", () => {
  it("add up by label values", () => {
    const tallies = new EventCounters();
    expect(shown(tallies, "gateway_mcp_requests_total")).toEqual([]);
    tallies.add([call("a", "2xx"), call("a", "2xx", 3), call('b"\\,', "5xx")]);
    tallies.add([call("a", "2xx")]);
    expect(shown(tallies, "gateway_mcp_requests_total")).toEqual([
      [{ server: "a", status: "2xx" }, 5],
      [{ server: 'b"\\,', status: "5xx" }, 1],
    ]);
  });

  it("take no more label sets than their bound, and still count those they have", () => {
    const tallies = new EventCounters();
    tallies.add(Array.from({ length: 10_050 }, (_, at) => call(`server-${at}`, "2xx")));
    tallies.add([call("server-0", "2xx"), call("another", "2xx")]);
    const samples = shown(tallies, "gateway_mcp_requests_total") ?? [];
    expect({ sampleCount: samples.length, first: samples[0] }).toEqual({
      sampleCount: 10_000,
      first: [{ server: "server-0", status: "2xx" }, 2],
    });
  });

  it("always take the label sets that are shown from the start", () => {
    const tallies = new EventCounters();
    tallies.add(boonEvent("vision", "hit", 7));
    tallies.add(Array.from({ length: 10_050 }, (_, at) => call(`server-${at}`, "2xx")));
    tallies.add([
      ...boonEvent("vision", "hit", 1),
      ...boonEvent("guardrails_output:pii", "none", 3),
      call("new", "2xx"),
    ]);
    expect(shown(tallies, "gateway_mcp_requests_total")).toHaveLength(10_000);
    const ms = (shown(tallies, "gateway_boon_seconds_total") ?? []).filter(([, value]) => value !== 0);
    expect(ms).toEqual([
      [{ boon: "vision" }, 0.008],
      [{ boon: "guardrails_output:pii" }, 0.003],
    ]);
  });
});

describe("runs of boons", () => {
  const sum = (counters: EventCounters, metric: string) =>
    (shown(counters, metric) ?? []).filter(([, value]) => value !== 0);

  it("are counted by outcome, with the time that they took", () => {
    const counters = new EventCounters();
    expect(shown(counters, "gateway_boon_runs_total")).toHaveLength(39);
    expect(shown(counters, "gateway_boon_seconds_total")).toHaveLength(13);
    counters.add(boonEvent("vision", "hit", 12.4));
    counters.add(boonEvent("vision", "failed", 30));
    counters.add(boonEvent("guardrails_input:pii", "none", 0));
    expect(sum(counters, "gateway_boon_runs_total")).toEqual([
      [{ boon: "vision", outcome: "hit" }, 1],
      [{ boon: "vision", outcome: "failed" }, 1],
      [{ boon: "guardrails_input:pii", outcome: "none" }, 1],
    ]);
    expect(sum(counters, "gateway_boon_seconds_total")).toEqual([[{ boon: "vision" }, 0.042]]);
    expect(shown(counters, "gateway_boon_runs_total")).toHaveLength(39);
  });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY])("add no time of %s", (ms) => {
    expect(boonEvent("auto_route", "none", ms)).toEqual([
      { metric: "gateway_boon_runs_total", labels: ["auto_route", "none"], times: 1 },
    ]);
  });
});
