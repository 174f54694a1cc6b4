/**
 * The table of docs/rules/upstream-calls.md#attempts: for everything that an upstream can do, the result of a request:
 * with this upstream alone, with two attempts, and with a second endpoint that works.
 */

/** What the client reads: the good answer, the upstream's own error, the gateway's error, or how a body ends. */
type ClientResult =
  | "answer"
  | "stream"
  | "own error"
  | "upstream_failed"
  | "upstream_timeout"
  | "in-band error"
  | "cut body"
  | "garbage";

export interface ExpectedOutcome {
  readonly status: number;
  readonly reads: ClientResult;
  /** How many requests each endpoint got. */
  readonly attempts: Readonly<Record<string, number>>;
  readonly counted: Readonly<Record<string, number>>;
  /** The key of the alert; null: none is raised. */
  readonly alert: string | null;
  /** The upstream status in the ledger, 0 when no upstream answered. */
  readonly upstreamStatus: number;
  readonly billed: "reported" | "estimate" | "seen" | "nothing";
}

export interface Case {
  readonly behaviour: string;
  readonly stream?: boolean;
  /** With one address and `max_retries` 1. */
  readonly alone: ExpectedOutcome;
  /** With the same endpoint before a good one. */
  readonly beside: ExpectedOutcome;
}

const bad = (times: number) => (times === 0 ? {} : { bad: times });

const good = (
  before: Readonly<Record<string, number>>,
  counted: Readonly<Record<string, number>>,
): ExpectedOutcome => ({
  status: 200,
  reads: "answer",
  attempts: { ...before, good: 1 },
  counted: { ...counted, failover: 1, success: 1 },
  alert: null,
  upstreamStatus: 200,
  billed: "reported",
});

/** Without a connection there is one attempt more than after a failed answer. */
const unreachable = (behaviour: string, seen: number): Case => ({
  behaviour,
  alone: {
    status: 502,
    reads: "upstream_failed",
    attempts: bad(seen),
    counted: { retry: 2, exhausted: 1 },
    alert: "upstream_request_failed",
    upstreamStatus: 0,
    billed: "nothing",
  },
  beside: good(bad(seen), { retry: 2 }),
});

const retryable = (behaviour: string, upstreamStatus: number, status: number): Case => ({
  behaviour,
  alone: {
    status,
    reads: "own error",
    attempts: bad(2),
    counted: { retry: 1, exhausted: 1 },
    alert: upstreamStatus >= 500 ? "upstream_5xx_response" : null,
    upstreamStatus,
    billed: "nothing",
  },
  beside: good(bad(2), { retry: 1 }),
});

const streamed = ({ behaviour, alone, beside }: Case): Case => ({
  behaviour,
  stream: true,
  alone,
  beside: { ...beside, reads: "stream" },
});

/** What only another endpoint may answer differently. */
const elsewhere = (behaviour: string, status: number): Case => ({
  ...final(behaviour, status, status, null),
  beside: good(bad(1), {}),
});

const same = (behaviour: string, outcome: ExpectedOutcome, stream = false): Case => ({
  behaviour,
  stream,
  alone: outcome,
  beside: outcome,
});

const final = (behaviour: string, upstreamStatus: number, status: number, alert: string | null): Case =>
  same(behaviour, {
    status,
    reads: "own error",
    attempts: bad(1),
    counted: {},
    alert,
    upstreamStatus,
    billed: "nothing",
  });

/** Answers with status 200: after the first byte no other attempt is made. */
const begun = (
  behaviour: string,
  reads: ClientResult,
  change: Partial<ExpectedOutcome> = {},
  stream = reads !== "answer" && reads !== "cut body",
): Case =>
  same(
    behaviour,
    {
      status: 200,
      reads,
      attempts: bad(1),
      counted: { success: 1 },
      alert: null,
      upstreamStatus: 200,
      billed: "reported",
      ...change,
    },
    stream,
  );

const broke = { alert: "upstream_stream_error", billed: "seen" } as const;

export const CASES: readonly Case[] = [
  unreachable("refuses", 0),
  unreachable("reset", 3),
  unreachable("nonsense", 3),
  retryable("status=408", 408, 408),
  retryable("status=429", 429, 429),
  retryable("status=500", 500, 502),
  retryable("status=502", 502, 502),
  retryable("status=503,retry-after=0.3", 503, 502),
  retryable("status=504", 504, 502),
  retryable("status=425", 425, 425),
  retryable("status=409,retry-after=0.1", 409, 409),
  retryable("status=520", 520, 520),
  retryable("status=524", 524, 524),
  retryable("status=529", 529, 529),
  retryable("error=503", 503, 502),
  streamed(retryable("error=429", 429, 429)),
  unreachable("empty-reset", 3),
  {
    behaviour: "hang",
    alone: {
      status: 504,
      reads: "upstream_timeout",
      attempts: bad(2),
      counted: { timeout: 2, retry: 1, exhausted: 1 },
      alert: "upstream_request_failed",
      upstreamStatus: 0,
      billed: "nothing",
    },
    beside: good(bad(2), { timeout: 2, retry: 1 }),
  },
  final("status=400", 400, 400, null),
  elsewhere("status=401", 401),
  elsewhere("status=403", 403),
  elsewhere("status=404", 404),
  elsewhere("status=424", 424),
  final("status=409", 409, 409, null),
  final("error=400", 400, 400, null),
  final("status=422", 422, 422, null),
  final("status=302", 302, 502, "upstream_request_failed"),
  final("status=501", 501, 502, "upstream_5xx_response"),
  begun("status=503,fails=1", "answer", { attempts: bad(2), counted: { retry: 1, success: 1 } }),
  begun("reset,fails=1", "answer", { attempts: bad(2), counted: { retry: 1, success: 1 } }),
  begun("reset,fails=2", "answer", { attempts: bad(3), counted: { retry: 2, success: 1 } }),
  begun("hang,fails=1", "answer", { attempts: bad(2), counted: { timeout: 1, retry: 1, success: 1 } }),
  begun("plain", "answer"),
  begun("no-usage", "answer", { billed: "estimate" }),
  begun("gzip", "answer"),
  begun("mb=20", "answer"),
  begun("half", "cut body", { ...broke, billed: "estimate" }),
  begun("plain,chunks=5", "stream"),
  begun("bytes", "stream"),
  begun("garbage", "garbage", { billed: "estimate" }),
  begun("cut,pace=20", "in-band error", broke),
  begun("cut-mid,pace=20", "in-band error", broke),
  begun("late-error", "stream", { alert: "upstream_stream_error" }),
  begun("late-error,no-usage", "stream", broke),
  begun("stall", "in-band error", { ...broke, counted: { success: 1, timeout: 1 } }),
];
