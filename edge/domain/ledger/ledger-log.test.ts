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
  type LogLine,
  limitsPerShard,
  markShipped,
  REFUSALS_MAX_PART,
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
  readonly refusalBytes: number;
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
        const { segment, bytes, refusalBytes } = effect;
        this.commits.push({ segment, bytes, refusalBytes, rows });
      } else if (effect.type === "open") this.openSegment = effect.segment;
      else if (effect.type === "applied") this.applied.set(effect.source, effect.sequence);
      else this.dropped = effect.total;
    }
    this.index = step.index;
  }

  /** Sends the oldest segment; `ack` false: the store took it, but its answer was lost. */
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
    const pending = [...new Set(this.commits.map((commit) => commit.segment))].map((segment) => {
      const commits = this.commits.filter((commit) => commit.segment === segment);
      return { segment, bytes: sum(commits, "bytes"), refusalBytes: sum(commits, "refusalBytes") };
    });
    this.index = {
      openSegment: this.openSegment,
      openBytes: pending.find(({ segment }) => segment === this.openSegment)?.bytes ?? 0,
      pending,
      dropped: this.dropped,
      applied: new Map(this.applied),
    };
  }
}

type Sized = Readonly<Record<"bytes" | "refusalBytes", number>>;
const sum = (items: readonly Sized[], name: keyof Sized): number => items.reduce((all, item) => all + item[name], 0);

const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("batch" as const),
      sizes: fc.array(fc.tuple(fc.integer({ min: 1, max: 300_000 }), fc.boolean()), { maxLength: 6 }),
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
        const sent: { sequence: number; lines: LogLine[] }[] = [];
        const given: string[] = [];
        const lineOf = (bytes: number, refusal: boolean): LogLine => {
          const json = String(given.length);
          given.push(json);
          return { json, bytes, refusal };
        };
        for (const step of events) {
          if (step.type === "batch") {
            const batch = {
              sequence: sent.length + 1,
              lines: step.sizes.map(([bytes, refusal]) => lineOf(bytes, refusal)),
            };
            sent.push(batch);
            world.carryOut(appendBatch(world.index, { source: "c/e", orphan: false, ...batch }, bounds));
          } else if (step.type === "repeat") {
            const batch = sent.at(-1 - step.back);
            if (batch) world.carryOut(appendBatch(world.index, { source: "c/e", orphan: false, ...batch }, bounds));
          } else if (step.type === "fallback") {
            world.carryOut(appendLines(world.index, [lineOf(step.size, false)], true, bounds));
          } else if (step.type === "ship") world.ship(step.ack);
          else {
            const before = world.index;
            world.restart();
            expect(world.index).toEqual(before);
          }
          expect(world.index.pending.length).toBeLessThanOrEqual(bounds.maxSegments);
          expect(sum(world.index.pending, "bytes")).toBeLessThanOrEqual(bounds.maxBytes);
          expect(sum(world.index.pending, "refusalBytes")).toBeLessThanOrEqual(bounds.maxBytes * REFUSALS_MAX_PART);
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
        const lines = sizes.map((bytes, at) => ({ json: String(at), bytes, refusal: false }));
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

  it("keeps three quarters of its room for rows that are no refusals, whatever came first", () => {
    const limits: LogLimits = { maxBytes: 400_000, maxSegments: 1000 };
    const line = fc.record({ bytes: fc.integer({ min: 1, max: 20_000 }), refusal: fc.boolean() });
    fc.assert(
      fc.property(fc.array(fc.array(line, { maxLength: 8 }), { maxLength: 40 }), (batches) => {
        let index = EMPTY;
        let usedBytes = 0;
        const flood = Array.from({ length: 100 }, () => ({ json: "", bytes: 5_000, refusal: true }));
        for (const batch of [flood, ...batches.map((lines) => lines.map((one) => ({ ...one, json: "" })))]) {
          const used = batch.filter(({ refusal }) => !refusal).reduce((all, { bytes }) => all + bytes, 0);
          const step = appendLines(index, batch, false, limits);
          if (usedBytes + used > limits.maxBytes * (1 - REFUSALS_MAX_PART)) return;
          const kept = step.effects.flatMap((effect) => (effect.type === "commit" ? effect.lines : []));
          expect(kept.filter(({ refusal }) => !refusal)).toEqual(batch.filter(({ refusal }) => !refusal));
          expect(step.index.dropped - index.dropped).toBe(batch.length - kept.length);
          usedBytes += used;
          index = step.index;
        }
      }),
    );
  });

  it("divides its limits among shards and backs off to a minute", () => {
    const shard = limitsPerShard(4);
    expect({ maxBytes: shard.maxBytes, maxSegments: shard.maxSegments }).toEqual({
      maxBytes: SPILL_MAX_BYTES / 4,
      maxSegments: SPILL_MAX_SEGMENTS / 4,
    });
    expect([1, 2, 3, 6, 7, 50].map(shippingBackoffMs)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
  });
});
