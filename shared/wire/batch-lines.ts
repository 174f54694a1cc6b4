/** How the control service sends a line of a batch to a Worker, at `/internal/lines` (docs/rules/batches.md#lines). */
export const LINE_HEADERS = {
  /** The id of its request. */
  requestId: "x-gateway-line-request",
  /** The hash of the key as which it runs. */
  key: "x-gateway-line-key",
  /** The id of its batch, as clients know it. */
  batch: "x-gateway-line-batch",
  /** The path that it calls. */
  path: "x-gateway-line-path",
  /** When it is called off, epoch ms. */
  until: "x-gateway-line-until",
  /** Of the answer: how long the line waited for its slot, ms; absent: it got none. */
  waitedMs: "x-gateway-line-waited-ms",
  /** Of the answer: the status that a client would have got. */
  status: "x-gateway-line-status",
  /** Of the answer: what the gateway says of it, one of {@link LINE_OUTCOMES}; absent: an upstream has made it. */
  outcome: "x-gateway-line-outcome",
} as const;

/** `refused`: no upstream was called; `too-large`: the answer was read to its end, and is not kept. */
export const LINE_OUTCOMES = ["refused", "too-large"] as const;
export type LineOutcome = (typeof LINE_OUTCOMES)[number];

/** The user of files and batches, in requests of a Worker to the control service. */
export const CALLER_HEADERS = { tenant: "x-gateway-tenant-id", key: "x-gateway-key-id" } as const;

/** Where the control service answers `/v1/files` and `/v1/batches`: below this path. */
export const CLIENT_PATHS = "/internal/client";
