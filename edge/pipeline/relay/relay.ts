/**
 * Step 8: the bytes of the upstream go to the client unchanged, and usage is read from a copy
 * (docs/rules/streams.md#two-relays). This file decides which relay moves the answer and what its end means; the relays
 * move bytes.
 */
import type { GatewayError } from "../../../shared/errors.ts";
import type { ResponseTransform } from "../../domain/sse/response-transform.ts";
import { isCompleteStream } from "../../domain/sse/stream-end.ts";
import type { TransformPlan } from "../../domain/transform/transform.ts";
import { clientHeaders } from "../../domain/upstream/headers.ts";
import { type Billed, type BilledAnswer, clientStatus } from "../../domain/usage/billing.ts";
import { UsageScan } from "../../domain/usage/usage-scan.ts";
import type { Settler } from "../admission/settle.ts";
import { CACHE_BODY_MAX_BYTES, type CacheMiss, storeResponse } from "../cache/response-cache.ts";
import type { Call } from "../call/context.ts";
import type { Resolved } from "../call/known.ts";
import { BoundedBuffer } from "../memory/bounded-buffer.ts";
import { gatewayHeaders, isEventStream, STREAM_HEADERS } from "../reply/response-headers.ts";
import { reportBrokenStream } from "../report/upstream-alerts.ts";
import type { UpstreamAnswer } from "../upstream/attempt.ts";
import type { UpstreamProgress } from "../upstream/upstream-progress.ts";
import type { BodyEnd, RelayJob } from "./relay-job.ts";
import { relayNative } from "./relay-native.ts";
import { relayPump } from "./relay-pump.ts";
import { readSmallAnswer, smallAnswerBytes } from "./small-answer.ts";

/** An answer to relay, and what follows its end. */
interface RelayInput {
  readonly request: Resolved & { readonly upstream: UpstreamProgress };
  readonly forwarded: UpstreamAnswer;
  /** The bill of a 2xx, by what was seen of it. */
  readonly bill: (answered: BilledAnswer) => Billed;
  readonly settler: Pick<Settler, "end" | "abandon">;
  /** Where a complete answer is stored; null: nowhere. */
  readonly miss: CacheMiss | null;
}

/** The response of a request whose upstream has answered. Its end settles the request. */
export async function relay(call: Call, relayed: RelayInput): Promise<Response> {
  const { request, forwarded, settler, miss } = relayed;
  const { response, cancellation, sentMs } = forwarded;
  const { headers: upstreamHeaders } = response;
  const status = clientStatus(response.status);
  const contentType = upstreamHeaders.get("content-type");
  const events = isEventStream(contentType);
  const headers = {
    ...clientHeaders(upstreamHeaders, response.status, contentType),
    ...gatewayHeaders(call, request),
    ...(events ? STREAM_HEADERS : {}),
  };
  const scan = new UsageScan({ content: call.route.billedBy === "tokens" });
  const buffer =
    miss !== null && response.status === 200
      ? new BoundedBuffer(CACHE_BODY_MAX_BYTES, call.memory.cacheMemory.open())
      : null;
  let firstByteMs: number | null = null;

  const finish = (end: BodyEnd): void => {
    cancellation.release();
    const { readerStalled } = cancellation;
    const ttftMs = firstByteMs === null ? 0 : Math.max(0, firstByteMs - sentMs);
    const statusCode = end === "gone" ? 499 : status;
    forwarded.span.set({ ttft_ms: ttftMs });
    if (end === "broken") forwarded.span.fail();
    forwarded.span.end(call.ports.clock());
    if (end === "complete" && response.ok) call.memory.endpoints.answered(forwarded.target.key);
    let failure: GatewayError | null = null;
    if (end === "broken") {
      call.memory.endpoints.failed(forwarded.target.key, call.ports.clock());
      if (cancellation.timedOut) request.upstream.count("timeout");
      failure = reportBrokenStream(call, request.model, cancellation.timedOut, scan.bytes);
    }
    if (!response.ok) {
      buffer?.close();
      settler.end({ statusCode, ttftMs, failure, readerStalled });
      return;
    }
    const billed = relayed.bill({ usage: scan.usage(), complete: end === "complete" });
    settler.end({ statusCode, billed, ttftMs, failure, readerStalled });
    const whole = end === "complete" ? buffer?.take() : null;
    if (miss !== null && whole && (!events || isCompleteStream(whole))) {
      const stored = { body: whole, contentType: contentType ?? "application/json", ...billed };
      storeResponse(call, miss, stored, () => buffer?.close());
    } else buffer?.close();
  };

  const { body } = response;
  if (body === null) {
    finish("complete");
    return new Response(null, { status, headers });
  }
  const onUpstream = (chunk: Uint8Array): void => {
    firstByteMs ??= call.ports.clock();
    scan.push(chunk);
  };
  const size = events ? null : smallAnswerBytes(upstreamHeaders);
  const reservation = size === null ? null : call.memory.answerMemory.open();
  const taken =
    size === null || reservation?.grow(size) !== true
      ? null
      : await readSmallAnswer(body, size).finally(() => reservation.close());
  if (taken instanceof Uint8Array) {
    onUpstream(taken);
    buffer?.push(taken);
    finish(cancellation.clientGone ? "gone" : "complete");
    return new Response(taken, { status, headers });
  }
  const transforms = events ? responseTransformsOf(forwarded.applied) : [];
  const job: RelayJob = {
    body,
    cancellation,
    clock: call.ports.clock,
    timer: call.timer,
    stalledReaderMs: call.config.stalledReaderMs,
    events,
    transforms,
    onUpstream,
    onClient: (chunk) => buffer?.push(chunk),
  };
  const native = response.ok && events && transforms.length === 0;
  const { readable, ended } = native ? relayNative(job) : relayPump(job, taken);
  call.waitUntil(
    ended.then(finish).catch(() => {
      buffer?.close();
      settler.abandon();
    }),
  );
  return new Response(readable, { status, headers });
}

function responseTransformsOf(applied: readonly TransformPlan[]): readonly ResponseTransform[] {
  return applied.flatMap(({ response }) => (response === null ? [] : [response()]));
}
