/**
 * Where the time of one request went, from its usage row alone (docs/rules/settlement-and-rows.md#rows). The parts add up to
 * the whole time, whatever the row claims. They are amounts: in which order the gateway's own time was spent, a row does
 * not say.
 */
import type { UsageRow } from "../../shared/usage/usage-row.ts";

/**
 * `queue`: waiting for a slot. `gateway`: reading, looking up, waiting before another attempt. `first_token`: from sending the
 * successful attempt to its first byte. `stream`: from there to the last byte. `stream_and_attempts`: the same and attempts
 * before, which a row does not distinguish. `upstream`: calls without a known first byte.
 */
export type PhaseId = "queue" | "gateway" | "first_token" | "stream" | "stream_and_attempts" | "upstream";

/** One part of the whole time. */
export interface Phase {
  readonly id: PhaseId;
  /** From the beginning of the whole, ms. */
  readonly fromMs: number;
  /** More than 0. */
  readonly durationMs: number;
}

/** The fields of a row that say where its time went. */
export type TimedRow = Pick<UsageRow, "total_ms" | "queue_wait_ms" | "gateway_ms" | "ttft_ms"> &
  FirstTokenRow & {
    /** Absent: the reader does not see it; then it is not told apart from one attempt. */
    readonly attempts?: number | undefined;
  };

/** A request that took less is not slow. */
export const SLOW_MS = 1000;
/** A stream shorter than this says nothing of its speed. */
const SPEED_FROM_MS = 50;
/** A longer time is no measurement: a column of times holds 32 bits. */
const LONGEST_MS = 2 ** 32 - 1;

/** The parts of the whole time, one after the other; those that took no time are left out. */
export function requestPhases(row: TimedRow): readonly Phase[] {
  const phases: Phase[] = [];
  let fromMs = 0;
  const wholeMs = measured(row.total_ms);
  const take = (id: PhaseId, wantedMs: number): void => {
    const durationMs = Math.min(measured(wantedMs), wholeMs - fromMs);
    if (durationMs > 0) phases.push({ id, fromMs, durationMs });
    fromMs += durationMs;
  };
  take("queue", row.queue_wait_ms);
  take("gateway", row.gateway_ms);
  const firstMs = firstTokenMs(row);
  const hasFirstByte = firstMs !== null;
  if (hasFirstByte) take("first_token", firstMs);
  take(hasFirstByte ? (measured(row.attempts) > 1 ? "stream_and_attempts" : "stream") : "upstream", wholeMs);
  return phases;
}

type FirstTokenRow = { readonly [Field in "ttft_ms" | "status_code" | "output_tokens"]?: number | undefined };

/** Time until the first byte of an answer; null: it had none. The first byte of an error that came without one is not its. */
export function firstTokenMs({ ttft_ms, status_code, output_tokens }: FirstTokenRow): number | null {
  const isError = measured(status_code) >= 400 && status_code !== 499 && measured(output_tokens) === 0;
  return isError || measured(ttft_ms) === 0 ? null : measured(ttft_ms);
}

/** A measured time or count as a whole number, 0 to 2^32 - 1; what is absent or no number counts as 0. */
export function measured(ms: number | undefined): number {
  return ms !== undefined && ms > 0 ? Math.floor(Math.min(ms, LONGEST_MS)) : 0;
}

/** How fast tokens were written; null where the row cannot tell the stream's time. */
export function streamTokensPerSec(
  phases: readonly Phase[],
  row: { readonly output_tokens?: number | undefined },
): number | null {
  const stream = phases.find(({ id }) => id === "stream");
  const tokens = measured(row.output_tokens);
  if (stream === undefined || stream.durationMs < SPEED_FROM_MS || tokens < 2) return null;
  return tokens / (stream.durationMs / 1000);
}
