/**
 * How one sealed segment is sent, as a pure state machine. It is sent in parts of at most a thousand rows; a part that the
 * store refuses for its content is halved until the refused rows are alone, and all others are delivered in order.
 * Invariant: a range is halved only after a refusal, and is never sent whole again until the plan restarts, so that the token
 * of a range always means the same rows. When a store takes no row at all, no row is given up as refused.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { INSERT_MAX_ROWS } from "./ledger-log.ts";

/** Refused rows (dead letters) that one ledger keeps, and their bytes. */
export const DEAD_LETTER_MAX_ROWS = LIMITS.deadLetters;
export const DEAD_LETTER_MAX_BYTES = LIMITS.deadLetterBytes;
/** A refused row is tried again after this time: the cause of the refusal may have been repaired. */
export const DEAD_LETTER_RETRY_MS = 3_600_000;

/** Rows of a segment by position, `to` excluded. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

/** Kept on disk once a part of it cannot be computed again: the skipped, halved or refused ranges. */
export interface SendPlan {
  readonly segment: number;
  readonly rows: number;
  /**
   * Positions of rows that came to the store in another way. Decided once, before the first send: a row that the store has
   * from an unfinished send must be sent again, or the rollup would miss it.
   */
  readonly skip: readonly number[];
  /** Still to be sent, ascending. */
  readonly left: readonly RowRange[];
  /** Positions of the rows that were refused alone, ascending. */
  readonly refused: readonly number[];
  /** The store took at least one row: so it works, and refuses the other rows for their own content. */
  readonly taken: boolean;
}

/** A segment of `rows` rows, none of them sent. */
export function planOf(segment: number, rows: number, skip: readonly number[] = []): SendPlan {
  return { segment, rows, skip, left: partsOf(rows), refused: [], taken: false };
}

/** Notes that the store took the first remaining range. */
export function planAfterInsert(plan: SendPlan): SendPlan {
  return { ...plan, left: plan.left.slice(1), taken: true };
}

/** Notes that the store refused the first remaining range for its content. */
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

/** The plan from its start again, for a store that took nothing. */
export function restartedPlan({ segment, rows, skip }: SendPlan): SendPlan {
  return planOf(segment, rows, skip);
}

/**
 * The name of a range, different from every other range of its ledger: the same rows have the same name at every attempt.
 */
export function rangeName({ segment, rows }: SendPlan, { from, to }: RowRange): string {
  const part = Math.floor(from / INSERT_MAX_ROWS);
  const whole = from % INSERT_MAX_ROWS === 0 && to === Math.min(from + INSERT_MAX_ROWS, rows);
  return whole ? `${segment}-${part}` : `${segment}-${part}-${from}-${to}`;
}

/**
 * How many dead letters to delete, oldest first, so that the refused rows of a plan fit. Null: none may be deleted, because the
 * store took nothing of this segment; then the store is failing, and the segment waits.
 */
export function deadLetterRoom(
  deadLetters: readonly number[],
  refusedBytes: readonly number[],
  taken: boolean,
): { readonly displaced: number } | null {
  const sizes = [...deadLetters, ...refusedBytes];
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
