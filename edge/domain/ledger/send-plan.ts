/**
 * How one sealed segment is sent, as a pure state machine. It leaves in parts of at most a thousand rows; a part that the
 * store refuses for what is in it is halved until the refused rows stand alone, and all others are delivered in order.
 * Invariant: a range is halved only after a refusal, and is never sent whole again until the plan begins anew, so that the
 * token of a range always stands for the same rows. It never decides that rows are lost for a store that takes none.
 */
import { INSERT_MAX_ROWS } from "./ledger-log.ts";

/** Refused rows that one ledger keeps, and their bytes. */
export const DEAD_LETTER_MAX_ROWS = 1000;
export const DEAD_LETTER_MAX_BYTES = 4 * 1024 * 1024;
/** A refused row is tried again after this time: what refused it may have been repaired. */
export const DEAD_LETTER_RETRY_MS = 3_600_000;

/** Rows of a segment by position, `to` excluded. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

/** Kept on disk once something of it cannot be worked out anew: what is skipped, what was halved, what was refused. */
export interface SendPlan {
  readonly segment: number;
  readonly rows: number;
  /**
   * Positions of rows that came to the store by another way. Decided once, before the first send: a row that the store has
   * from a send that it did not finish must be sent again, or the rollup would miss it.
   */
  readonly skip: readonly number[];
  /** Still to be sent, ascending. */
  readonly left: readonly RowRange[];
  /** Positions of the rows that were refused alone, ascending. */
  readonly refused: readonly number[];
  /** The store took at least one row: it works, and what it refuses is refused for itself. */
  readonly taken: boolean;
}

/** A segment of `rows` rows, none of them sent. */
export function planOf(segment: number, rows: number, skip: readonly number[] = []): SendPlan {
  return { segment, rows, skip, left: partsOf(rows), refused: [], taken: false };
}

/** The store has the first range that was left. */
export function planAfterInsert(plan: SendPlan): SendPlan {
  return { ...plan, left: plan.left.slice(1), taken: true };
}

/** The store refused the first range that was left for its content. */
export function planAfterRefusal(plan: SendPlan): SendPlan {
  const [first, ...rest] = plan.left;
  if (first === undefined) return plan;
  if (first.to - first.from === 1) return { ...plan, left: rest, refused: [...plan.refused, first.from] };
  const middle = Math.ceil((first.from + first.to) / 2);
  const halves = [
    { from: first.from, to: middle },
    { from: middle, to: first.to },
  ];
  return { ...plan, left: [...halves, ...rest] };
}

/** Everything once more from the start, for a store that took nothing. */
export function restartedPlan({ segment, rows, skip }: SendPlan): SendPlan {
  return planOf(segment, rows, skip);
}

/** What tells a range from every other of its ledger: the same rows under the same name at every attempt. */
export function rangeName({ segment, rows }: SendPlan, { from, to }: RowRange): string {
  const part = Math.floor(from / INSERT_MAX_ROWS);
  const whole = from % INSERT_MAX_ROWS === 0 && to === Math.min(from + INSERT_MAX_ROWS, rows);
  return whole ? `${segment}-${part}` : `${segment}-${part}-${from}-${to}`;
}

/**
 * How many of the rows that are aside have to go, oldest first, so that the refused rows of a plan have room. Null: none
 * may go, because the store took nothing of this segment; then it is the store that fails, and the segment waits.
 */
export function deadLetterRoom(
  aside: readonly number[],
  refusedBytes: readonly number[],
  taken: boolean,
): { readonly displaced: number } | null {
  const sizes = [...aside, ...refusedBytes];
  let bytes = sizes.reduce((sum, size) => sum + size, 0);
  let displaced = 0;
  while (
    displaced < sizes.length &&
    (sizes.length - displaced > DEAD_LETTER_MAX_ROWS || bytes > DEAD_LETTER_MAX_BYTES)
  ) {
    bytes -= sizes[displaced] ?? 0;
    displaced += 1;
  }
  return displaced > 0 && !taken ? null : { displaced };
}

function partsOf(rows: number): readonly RowRange[] {
  return Array.from({ length: Math.ceil(rows / INSERT_MAX_ROWS) }, (_, part) => ({
    from: part * INSERT_MAX_ROWS,
    to: Math.min((part + 1) * INSERT_MAX_ROWS, rows),
  }));
}
