/**
 * The Ledger's log as a pure state machine: (index, event) -> (index, effects). It decides which commit belongs to which
 * segment, when a segment is sealed, what is refused when the log is full, and which batch is a repeat. It never holds rows:
 * those are in the commits on disk. Rows of refused requests may fill only a part of the log: a client that is refused many
 * times must not displace the rows of real usage. Invariant: a sealed segment never gains or loses a row, so that its parts and
 * their deduplication tokens are the same at every attempt (docs/rules/settlement-and-rows.md#shipping,
 * docs/rules/settlement-and-rows.md#spill-bounds).
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";

export const COMMIT_MAX_BYTES = 256 * 1024;
export const SEGMENT_MAX_BYTES = 256 * 1024;
export const SPILL_MAX_BYTES = LIMITS.spillBytes;
export const SPILL_MAX_SEGMENTS = LIMITS.spillSegments;
export const INSERT_MAX_ROWS = 1000;
/** Part of the log that rows of refusals may fill. */
export const REFUSALS_MAX_PART = 1 / 4;
/** How long a shipped segment stays readable, so that a settle retried late is recognised. */
export const SHIPPED_KEEP_MS = 120_000;

/** The state of the log; rebuilt from disk when the object starts. */
export interface LogIndex {
  /** Number of the segment that still takes commits. */
  readonly openSegment: number;
  readonly openBytes: number;
  /** Sealed and open segments that hold rows and are not shipped, ascending. */
  readonly pending: readonly PendingSegment[];
  /** Rows refused because the log was full, since the log was created. */
  readonly dropped: number;
  /** Newest sequence applied per `cell/epoch`. */
  readonly applied: ReadonlyMap<string, number>;
}

interface PendingSegment {
  readonly segment: number;
  readonly bytes: number;
  /** Bytes of rows of refusals among them. */
  readonly refusalBytes: number;
}

/** Share of the spill limits that one ledger shard has. */
export interface LogLimits {
  readonly maxBytes: number;
  readonly maxSegments: number;
}

/** Rows in the form in which they are inserted: one line of JSON each. */
export interface LogLine {
  readonly json: string;
  readonly bytes: number;
  /** The request was refused: it used nothing. */
  readonly refusal: boolean;
}

/** The writes that the shell must make on disk, all in one transaction. */
export type LogEffect =
  | {
      readonly type: "commit";
      readonly segment: number;
      readonly lines: readonly LogLine[];
      readonly bytes: number;
      readonly refusalBytes: number;
      /** May have arrived before in another way. */
      readonly orphan: boolean;
    }
  | { readonly type: "open"; readonly segment: number }
  | { readonly type: "applied"; readonly source: string; readonly sequence: number }
  | { readonly type: "dropped"; readonly total: number };

export interface LogStep {
  readonly index: LogIndex;
  readonly effects: readonly LogEffect[];
}

/** The limits of one of `shards` ledgers of a cell. */
export function limitsPerShard(shards: number): LogLimits {
  return { maxBytes: Math.floor(SPILL_MAX_BYTES / shards), maxSegments: Math.floor(SPILL_MAX_SEGMENTS / shards) };
}

/** True when a batch of this source was applied before. */
export function wasApplied(index: LogIndex, source: string, sequence: number): boolean {
  return sequence <= (index.applied.get(source) ?? 0);
}

/** Appends a batch once; a batch seen before has no effect. */
export function appendBatch(
  index: LogIndex,
  batch: {
    readonly source: string;
    readonly sequence: number;
    readonly lines: readonly LogLine[];
    readonly orphan: boolean;
  },
  limits: LogLimits,
): LogStep {
  if (wasApplied(index, batch.source, batch.sequence)) return { index, effects: [] };
  const step = appendLines(index, batch.lines, batch.orphan, limits);
  const applied = new Map(step.index.applied).set(batch.source, batch.sequence);
  return {
    index: { ...step.index, applied },
    effects: [...step.effects, { type: "applied", source: batch.source, sequence: batch.sequence }],
  };
}

/** Appends rows that carry no sequence (a Worker's own fallback); the caller has checked that they are new. */
export function appendLines(start: LogIndex, lines: readonly LogLine[], orphan: boolean, limits: LogLimits): LogStep {
  const kept = withinQuota(start, lines, limits);
  const excess = countDropped(start, lines.length - kept.length);
  const effects: LogEffect[] = [...excess.effects];
  let { index } = excess;
  for (const group of splitLines(kept)) {
    const bytes = sumOf(group, (line) => line.bytes);
    const refusalBytes = sumOf(group, (line) => (line.refusal ? line.bytes : 0));
    const full = index.openBytes > 0 && index.openBytes + bytes > SEGMENT_MAX_BYTES;
    const opensNew = full || index.openBytes === 0;
    const pendingBytes = sumOf(index.pending, (entry) => entry.bytes);
    if (pendingBytes + bytes > limits.maxBytes || (opensNew && index.pending.length >= limits.maxSegments)) {
      const step = countDropped(index, group.length);
      ({ index } = step);
      effects.push(...step.effects);
      continue;
    }
    if (full) {
      index = { ...index, openSegment: index.openSegment + 1, openBytes: 0 };
      effects.push({ type: "open", segment: index.openSegment });
    }
    index = addToOpen(index, bytes, refusalBytes);
    effects.push({ type: "commit", segment: index.openSegment, lines: group, bytes, refusalBytes, orphan });
  }
  return { index, effects };
}

/** Seals the open segment when sending starts and it is the one to send; otherwise changes nothing. */
export function sealForSending(index: LogIndex): LogStep {
  const oldest = index.pending[0];
  if (oldest === undefined || oldest.segment !== index.openSegment) return { index, effects: [] };
  const segment = index.openSegment + 1;
  return { index: { ...index, openSegment: segment, openBytes: 0 }, effects: [{ type: "open", segment }] };
}

/** The store acknowledged a whole segment. */
export function markShipped(index: LogIndex, segment: number): LogIndex {
  return { ...index, pending: index.pending.filter((entry) => entry.segment !== segment) };
}

/** Counts rows that were dropped because the log was full. */
export function countDropped(index: LogIndex, rows: number): LogStep {
  if (rows === 0) return { index, effects: [] };
  const total = index.dropped + rows;
  return { index: { ...index, dropped: total }, effects: [{ type: "dropped", total }] };
}

/**
 * Wait before the next attempt after `failures` failed ones in a row: 1 s doubling to 60 s
 * (docs/rules/settlement-and-rows.md#shipping).
 */
export function shippingBackoffMs(failures: number): number {
  return Math.min(60_000, 1000 * 2 ** Math.min(failures - 1, 6));
}

function addToOpen(index: LogIndex, bytes: number, refusalBytes: number): LogIndex {
  const last = index.pending.at(-1);
  const more = last?.segment === index.openSegment ? last : null;
  const grown = {
    segment: index.openSegment,
    bytes: (more?.bytes ?? 0) + bytes,
    refusalBytes: (more?.refusalBytes ?? 0) + refusalBytes,
  };
  const before = more === null ? index.pending : index.pending.slice(0, -1);
  return { ...index, openBytes: index.openBytes + bytes, pending: [...before, grown] };
}

/** The lines without the refusals that exceed their part of the log. */
function withinQuota(index: LogIndex, lines: readonly LogLine[], limits: LogLimits): readonly LogLine[] {
  if (!lines.some((line) => line.refusal)) return lines;
  let leftBytes = limits.maxBytes * REFUSALS_MAX_PART - sumOf(index.pending, (entry) => entry.refusalBytes);
  return lines.filter(({ refusal, bytes }) => {
    if (!refusal) return true;
    if (bytes > leftBytes) return false;
    leftBytes -= bytes;
    return true;
  });
}

function sumOf<T>(items: readonly T[], numberOf: (item: T) => number): number {
  return items.reduce((sum, item) => sum + numberOf(item), 0);
}

/** Cuts lines into commits of at most 256 KiB; a longer line is a separate commit. */
function splitLines(lines: readonly LogLine[]): readonly (readonly LogLine[])[] {
  const groups: LogLine[][] = [];
  let size = 0;
  for (const line of lines) {
    const group = groups.at(-1);
    if (group === undefined || size + line.bytes > COMMIT_MAX_BYTES) {
      groups.push([line]);
      size = line.bytes;
    } else {
      group.push(line);
      size += line.bytes;
    }
  }
  return groups;
}
