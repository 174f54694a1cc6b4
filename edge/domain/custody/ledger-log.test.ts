/** The log under any mix of batches, repeats, fallbacks, shipments, lost acknowledgements and restarts. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  appendBatch,
  appendLines,
  COMMIT_MAX_BYTES,
  type LogEffect,
  type LogIndex,
  type LogLimits,
  limitsPerShard,
  markShipped,
  SEGMENT_MAX_BYTES,
  SPILL_MAX_BYTES,
  SPILL_MAX_SEGMENTS,
  sealForSending,
  shippingBackoffMs,
} from "./ledger-log.ts";
import { planOf, rangeName } from "./send-plan.ts";

const EMPTY: LogIndex = { openSegment: 1, openBytes: 0, pending: [], dropped: 0, applied: new Map() };

interface Commit {
  readonly segment: number;
  readonly bytes: number;
  readonly rows: readonly string[];
}

/** The disk of a Ledger and a store that honours tokens, with the index beside them. */
class World {
  index: LogIndex = EMPTY;
  commits: Commit[] = [];
  openSegment = 1;
  dropped = 0;
  readonly applied = new Map<string, number>();
  readonly stored: string[] = [];
  readonly tokens = new Map<string, string>();
  readonly limits: LogLimits;

  constructor(limits: LogLimits) {
    this.limits = limits;
  }

  carryOut(step: { index: LogIndex; effects: readonly LogEffect[] }): void {
    for (const effect of step.effects) {
      if (effect.type === "commit") {
        const rows = effect.lines.map((line) => line.json);
        this.commits.push({ segment: effect.segment, bytes: effect.bytes, rows });
      } else if (effect.type === "open") this.openSegment = effect.segment;
      else if (effect.type === "applied") this.applied.set(effect.source, effect.sequence);
      else this.dropped = effect.total;
    }
    this.index = step.index;
  }

  /** Sends the oldest segment; `ack` false: the store took it, but nobody heard. */
  ship(ack: boolean): void {
    this.carryOut(sealForSending(this.index));
    const segment = this.index.pending[0]?.segment;
    if (segment === undefined) return;
    const rows = this.commits.filter((commit) => commit.segment === segment).flatMap((commit) => commit.rows);
    const plan = planOf(segment, rows.length);
    for (const range of plan.left) {
      const entries = rows.slice(range.from, range.to);
      const token = rangeName(plan, range);
      const before = this.tokens.get(token);
      if (before === undefined) this.stored.push(...entries);
      else expect(entries.join()).toBe(before);
      this.tokens.set(token, entries.join());
    }
    if (!ack) return;
    this.commits = this.commits.filter((commit) => commit.segment !== segment);
    this.index = markShipped(this.index, segment);
  }

  restart(): void {
    const bytes = new Map<number, number>();
    for (const commit of this.commits) bytes.set(commit.segment, (bytes.get(commit.segment) ?? 0) + commit.bytes);
    this.index = {
      openSegment: this.openSegment,
      openBytes: bytes.get(this.openSegment) ?? 0,
      pending: [...bytes].map(([segment, size]) => ({ segment, bytes: size })),
      dropped: this.dropped,
      applied: new Map(this.applied),
    };
  }
}

const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("batch" as const),
      sizes: fc.array(fc.integer({ min: 1, max: 300_000 }), { maxLength: 6 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("repeat" as const), back: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("fallback" as const), size: fc.integer({ min: 1, max: 5_000 }) }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("ship" as const), ack: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("restart" as const) }) },
);

describe("the ledger's log", () => {
  it("ships every row that it took exactly once, in order, and counts every row that it refused", () => {
    const limits = fc.record({
      maxBytes: fc.integer({ min: 300_000, max: 3_000_000 }),
      maxSegments: fc.integer({ min: 1, max: 8 }),
    });
    fc.assert(
      fc.property(limits, fc.array(event, { maxLength: 60 }), (bounds, events) => {
        const world = new World(bounds);
        const sent: { sequence: number; lines: { json: string; bytes: number }[] }[] = [];
        const given: string[] = [];
        const lineOf = (bytes: number) => {
          const json = String(given.length);
          given.push(json);
          return { json, bytes };
        };
        for (const step of events) {
          if (step.type === "batch") {
            const batch = { sequence: sent.length + 1, lines: step.sizes.map(lineOf) };
            sent.push(batch);
            world.carryOut(appendBatch(world.index, { source: "c/e", orphan: false, ...batch }, bounds));
          } else if (step.type === "repeat") {
            const batch = sent.at(-1 - step.back);
            if (batch) world.carryOut(appendBatch(world.index, { source: "c/e", orphan: false, ...batch }, bounds));
          } else if (step.type === "fallback") {
            world.carryOut(appendLines(world.index, [lineOf(step.size)], true, bounds));
          } else if (step.type === "ship") world.ship(step.ack);
          else {
            const before = world.index;
            world.restart();
            expect(world.index).toEqual(before);
          }
          expect(world.index.pending.length).toBeLessThanOrEqual(bounds.maxSegments);
          expect(world.index.pending.reduce((sum, entry) => sum + entry.bytes, 0)).toBeLessThanOrEqual(bounds.maxBytes);
        }
        while (world.index.pending.length > 0) world.ship(true);
        expect(world.stored).toEqual([...world.stored].sort((a, b) => Number(a) - Number(b)));
        expect(new Set(world.stored).size).toBe(world.stored.length);
        expect(world.stored.length + world.dropped).toBe(given.length);
        expect(world.commits).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("keeps commits and segments within their size, but for a single longer line", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 400_000 }), { minLength: 1, maxLength: 40 }), (sizes) => {
        const lines = sizes.map((bytes, at) => ({ json: String(at), bytes }));
        const { effects } = appendLines(EMPTY, lines, false, limitsPerShard(1));
        const segments = new Map<number, Extract<LogEffect, { type: "commit" }>[]>();
        for (const effect of effects) {
          if (effect.type !== "commit") continue;
          expect(effect.bytes <= COMMIT_MAX_BYTES || effect.lines.length === 1).toBe(true);
          segments.set(effect.segment, [...(segments.get(effect.segment) ?? []), effect]);
        }
        for (const commits of segments.values()) {
          const bytes = commits.reduce((sum, commit) => sum + commit.bytes, 0);
          expect(bytes <= SEGMENT_MAX_BYTES || commits.length === 1).toBe(true);
        }
        const kept = [...segments.values()].flat().flatMap((commit) => commit.lines);
        expect(kept).toEqual(lines);
      }),
    );
  });

  it("divides its limits among shards and backs off to a minute", () => {
    const shard = limitsPerShard(4);
    expect([shard.maxBytes, shard.maxSegments]).toEqual([SPILL_MAX_BYTES / 4, SPILL_MAX_SEGMENTS / 4]);
    expect([1, 2, 3, 6, 7, 50].map(shippingBackoffMs)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
  });
});
