/** A cell that is gone is said to be gone, and its last load is not shown as today's. */
import { describe, expect, it } from "vitest";
import type { AttentionItem } from "../../shared/schema/attention.ts";
import { cellRows, loadOfAll } from "./cell-rows.ts";

const NOW_MS = Date.parse("2026-11-23T10:00:00Z");
const report = (cell: string, silentMs: number) => ({
  cell,
  in_flight: 3,
  queued: 2,
  max_in_flight: 8,
  last_seen_ms: NOW_MS - silentMs,
});
const unreachable = (cell: string, since: string | null): AttentionItem => ({
  kind: "cell_unreachable",
  entity_type: "cell",
  entity_id: cell,
  name: cell,
  detail: "the cell does not answer",
  since,
});

describe("cells", () => {
  it("that are silent for a minute, or are called unreachable, are gone", () => {
    const rows = cellRows(
      [report("west", 1000), report("south", 61_000), report("east", 5000)],
      [unreachable("east", null), unreachable("north", "2026-11-23T09:00:00Z"), unreachable("new", null)],
      NOW_MS,
    );
    expect(rows.map(({ cell, isGone, inFlight, lastSeenMs }) => [cell, isGone, inFlight, lastSeenMs])).toEqual([
      ["east", true, null, NOW_MS - 5000],
      ["new", true, null, null],
      ["north", true, null, NOW_MS - 3_600_000],
      ["south", true, null, NOW_MS - 61_000],
      ["west", false, 3, NOW_MS - 1000],
    ]);
    expect(loadOfAll(rows)).toEqual({ inFlight: 3, queued: 2, maxInFlight: 8 });
  });

  it("have an unknown load when none answers", () => {
    expect(loadOfAll(cellRows([report("south", 61_000)], [], NOW_MS))).toEqual({
      inFlight: null,
      queued: null,
      maxInFlight: null,
    });
  });
});
