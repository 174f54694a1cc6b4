/**
 * Step 8: upstream bytes become client bytes, untouched; usage is scanned on the side (design §3 laws 3 and 5). This file
 * decides which relay carries the answer and what its end means; the relays move bytes.
 */
import type { ModelRecord } from "../../../shared/records.ts";
import { isCompleteStream } from "../../domain/sse/stream-end.ts";
import { countOutcome } from "../../domain/upstream/attempt-outcomes.ts";
import { clientHeaders } from "../../domain/upstream/headers.ts";
import { type Billed, type BilledAnswer, clientStatus } from "../../domain/usage/billing.ts";
import { UsageScan } from "../../domain/usage/usage-scan.ts";
import type { Settler } from "../admission/settle.ts";
import { CACHE_BODY_MAX_BYTES, type CacheMiss, storeResponse } from "../cache/response-cache.ts";
import type { Call } from "../call/context.ts";
import { BoundedBuffer } from "../memory/bounded-buffer.ts";
import { gatewayHeaders, isEventStream, STREAM_HEADERS } from "../reply/response-headers.ts";
import { reportBrokenStream } from "../report/upstream-alerts.ts";
import type { UpstreamAnswer } from "../upstream/attempt.ts";
import type { BodyEnd, RelayJob } from "./relay-job.ts";
import { relayNative } from "./relay-native.ts";
import { relayPump } from "./relay-pump.ts";
import { readSmallAnswer, smallAnswerBytes } from "./small-answer.ts";

/** An answer to carry, and who is told of its end. */
interface RelayInput {
  readonly model: ModelRecord;
  readonly forwarded: UpstreamAnswer;
  /** What a 2xx is billed, by what came of it. */
  readonly bill: (answered: BilledAnswer) => Billed;
  readonly settler: Pick<Settler, "end" | "abandon">;
  /** Where a complete answer is stored; null: nowhere. */
  readonly miss: CacheMiss | null;
}

/** The response of a request whose upstream has answered. Its end settles the request. */
export async function relay(call: Call, relayed: RelayInput): Promise<Response> {
  const { model, forwarded, settler, miss } = relayed;
  const { response, stop, sentMs } = forwarded;
  const { headers: upstreamHeaders } = response;
  const status = clientStatus(response.status);
  const contentType = upstreamHeaders.get("content-type");
  const events = isEventStream(contentType);
  const headers = {
    ...clientHeaders(upstreamHeaders, response.status, contentType),
    ...gatewayHeaders(call),
    ...(events ? STREAM_HEADERS : {}),
  };
  const scan = new UsageScan({ content: call.route.billedBy === "tokens" });
  const capture =
    miss !== null && response.status === 200
      ? new BoundedBuffer(CACHE_BODY_MAX_BYTES, call.memory.cacheRoom.open())
      : null;
  let firstByteMs: number | null = null;

  const finish = (end: BodyEnd): void => {
    stop.release();
    if (stop.readerStalled) call.facts.readerStalled = true;
    const ttftMs = firstByteMs === null ? 0 : Math.max(0, firstByteMs - sentMs);
    const statusCode = end === "gone" ? 499 : status;
    forwarded.span.set({ ttft_ms: ttftMs });
    if (end === "broken") forwarded.span.fail();
    forwarded.span.end(call.ports.clock());
    if (end === "complete" && response.ok) call.memory.endpoints.answered(forwarded.target.key);
    if (end === "broken") {
      call.memory.endpoints.failed(forwarded.target.key, call.ports.clock());
      if (stop.timedOut) countOutcome(call.facts.upstreamOutcomes, "timeout");
      reportBrokenStream(call, model, stop.timedOut, scan.bytes);
    }
    if (!response.ok) {
      capture?.close();
      settler.end({ statusCode, ttftMs });
      return;
    }
    const billed = relayed.bill({ usage: scan.usage(), complete: end === "complete" });
    settler.end({ statusCode, billed, ttftMs });
    const captured = end === "complete" ? capture?.take() : null;
    if (miss !== null && captured && (!events || isCompleteStream(captured))) {
      const stored = { body: captured, contentType: contentType ?? "application/json", ...billed };
      storeResponse(call, miss, stored, () => capture?.close());
    } else capture?.close();
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
  const hold = size === null ? null : call.memory.answerRoom.open();
  const taken =
    size === null || hold?.grow(size) !== true ? null : await readSmallAnswer(body, size).finally(() => hold.close());
  if (taken instanceof Uint8Array) {
    onUpstream(taken);
    capture?.push(taken);
    finish(stop.clientGone ? "gone" : "complete");
    return new Response(taken, { status, headers });
  }
  const job: RelayJob = {
    body,
    stop,
    clock: call.ports.clock,
    timer: call.timer,
    stalledReaderMs: call.config.stalledReaderMs,
    events,
    withholdUsage: forwarded.usageAdded && events,
    onUpstream,
    onClient: (chunk) => capture?.push(chunk),
  };
  const native = response.ok && events && !forwarded.usageAdded;
  const { readable, ended } = native ? relayNative(job) : relayPump(job, taken);
  call.waitUntil(
    ended.then(finish).catch(() => {
      capture?.close();
      settler.abandon();
    }),
  );
  return new Response(readable, { status, headers });
}
