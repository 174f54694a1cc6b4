/**
 * The step after an attempt at an upstream (docs/rules/upstream-calls.md#attempts): its answer is final, the same endpoint is
 * tried again after a wait, the next one is tried at once, or nothing is left. Pure: it neither waits nor calls. Invariant:
 * endpoints are visited in order and never again; each is tried at most `maxRetries + 1` times, plus one attempt per request on
 * a new connection after a connection failed.
 */

const RETRYABLE = new Set([408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529]);
/** Only another endpoint may answer differently. */
const ELSEWHERE = new Set([401, 402, 403, 404, 424]);
/** Wait before the one attempt on a new connection, ms. */
export const FRESH_CONNECTION_MS = 50;
/** A longer retry-after of the upstream is ignored, ms. */
export const RETRY_AFTER_MAX_MS = 5_000;
/** The backoff doubles up to 2^6 = 64 times its base. */
const DOUBLINGS_MAX = 6;

export interface RetryRules {
  /** Number of endpoints, at least 1. */
  readonly targets: number;
  /** Further attempts at the same endpoint. */
  readonly maxRetries: number;
  readonly backoffMs: number;
  /** False once bytes have been sent that cannot be read again: then no attempt follows. */
  readonly resendable: boolean;
}

/** The progress of a request's attempts. */
export interface RetryState {
  /** Index of the endpoint. */
  readonly target: number;
  /** Attempts made there, not counting the one on a new connection. */
  readonly made: number;
  readonly freshConnectionUsed: boolean;
}

/** The state before the first attempt. */
export const RETRY_START: RetryState = { target: 0, made: 0, freshConnectionUsed: false };

/** The status of an answer, and how long its upstream asks to be left alone; null: it does not say. */
export interface AnsweredStatus {
  readonly status: number;
  readonly retryAfterMs: number | null;
}

/** How an attempt ended. */
export type AttemptEnd =
  | ({ readonly kind: "answered" } & AnsweredStatus)
  /** The connection failed, or the request could not be sent. */
  | { readonly kind: "unreachable" }
  /** The deadline passed before headers came. */
  | { readonly kind: "timed-out" }
  /** The endpoint was not called: its address or credential cannot be used. */
  | { readonly kind: "unusable" };

type RetryStep =
  | { readonly kind: "final" }
  | { readonly kind: "again"; readonly waitMs: number; readonly state: RetryState }
  | { readonly kind: "next"; readonly state: RetryState }
  /** Nothing is left to try. */
  | { readonly kind: "exhausted" };

/** True for an answer after which another attempt may succeed. A conflict passes when the upstream says when. */
export function isRetryable({ status, retryAfterMs }: AnsweredStatus): boolean {
  return RETRYABLE.has(status) || (status === 409 && retryAfterMs !== null);
}

/** The step after the attempt at `state`, which ended with `end`. */
export function nextStep(rules: RetryRules, state: RetryState, end: AttemptEnd): RetryStep {
  if (end.kind === "answered" && !isRetryable(end)) {
    const next = rules.resendable && ELSEWHERE.has(end.status) ? nextTarget(rules, state) : null;
    return next?.kind === "next" ? next : { kind: "final" };
  }
  if (!rules.resendable) return { kind: "exhausted" };
  if (end.kind === "unusable") return nextTarget(rules, state);
  if (end.kind === "unreachable" && !state.freshConnectionUsed)
    return { kind: "again", waitMs: FRESH_CONNECTION_MS, state: { ...state, freshConnectionUsed: true } };
  const made = state.made + 1;
  if (made > rules.maxRetries) return nextTarget(rules, state);
  const waitMs = Math.max(rules.backoffMs * 2 ** Math.min(made - 1, DOUBLINGS_MAX), honoured(end));
  return { kind: "again", waitMs, state: { ...state, made } };
}

function nextTarget(rules: RetryRules, state: RetryState): RetryStep {
  const target = state.target + 1;
  return target < rules.targets ? { kind: "next", state: { ...state, target, made: 0 } } : { kind: "exhausted" };
}

/** The wait that the upstream requested, when it is short enough. */
function honoured(end: AttemptEnd): number {
  const askedMs = end.kind === "answered" ? (end.retryAfterMs ?? 0) : 0;
  return askedMs <= RETRY_AFTER_MAX_MS ? askedMs : 0;
}
