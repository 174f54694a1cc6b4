/**
 * Step 8: the bytes of the upstream go to the client unchanged, and usage is read from a copy
 * (docs/rules/streams.md#two-relays). This file decides which relay moves the answer and how its end is handled; the relays
 * move bytes.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { ENDED_BY_GATEWAY } from "../../domain/admission/request-end.ts";
import { storedAnswerOf } from "../../domain/request/path-rules.ts";
import type { BilledBy } from "../../domain/request/route-class.ts";
import { clientHeaders } from "../../domain/upstream/headers.ts";
import type { TransformPlan } from "../../domain/upstream/transform.ts";
import { type Billed, type BilledAnswer, clientStatus, NOTHING_BILLED } from "../../domain/usage/billing.ts";
import { UsageScan } from "../../domain/usage/usage-scan.ts";
import type { ResponseTransform } from "../../domain/wire/sse/response-transform.ts";
import type { AnswerStage } from "../call/boon/answer-stage.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import type { BoonReport, Known, Resolved } from "../call/known.ts";
import { BoundedBuffer } from "../call/memory/bounded-buffer.ts";
import { reportBrokenStream } from "../call/report/upstream-alerts.ts";
import type { CapturedCall } from "../capture/captured-call.ts";
import type { UpstreamAnswer } from "../forward/attempt.ts";
import { smallAnswerBytes } from "../forward/look-at-answer.ts";
import type { UpstreamProgress } from "../forward/upstream-progress.ts";
import { gatewayHeaders, isEventStream, isText, STREAM_HEADERS } from "../reply/response-headers.ts";
import { CACHE_BODY_MAX_BYTES, type CacheMiss, storeResponse } from "../response-cache/response-cache.ts";
import type { Settler } from "../settle/settle.ts";
import { answerIdsOf } from "../stored/upstream-objects.ts";
import { anyReader } from "./body-reader.ts";
import { ByteTurns } from "./byte-turns.ts";
import type { BodyEnd, RelayedBody, RelayJob } from "./relay-job.ts";
import { relayNative } from "./relay-native.ts";
import { relayPump } from "./relay-pump.ts";
import { runStages, TappedBody } from "./staged-answer.ts";
import { translatedRefusal, translationStage } from "./translated-answer.ts";

/** What routes are billed by whose streams are text. */
const TEXT_BILLED: ReadonlySet<BilledBy> = new Set(["tokens", "seconds"]);
/** How long the upstream of a stream may keep it open after its end, for its usage, ms. */
const END_WITHIN_MS = 1_000;

/** An answer to relay, and the actions at its end. */
interface RelayInput {
  readonly request: Resolved & { readonly upstream: UpstreamProgress };
  readonly forwarded: UpstreamAnswer;
  /** The bill of a 2xx, by the part that was seen. */
  readonly bill: (answered: BilledAnswer) => Billed;
  readonly settler: Pick<Settler, "end" | "abandon">;
  /** Where a complete answer is stored; null: nowhere. */
  readonly miss: CacheMiss | null;
  /** What is kept of the call for admins. */
  readonly captured?: CapturedCall | null;
  /** What happens to a 2xx answer before the client gets it; most often nothing. */
  readonly stages: readonly AnswerStage[];
}

/**
 * The response of a request whose upstream has answered. Its end settles the request. Rethrows the error of a stage, or throws
 * ClientGone, after that has settled the request.
 */
export async function relay(call: Call, relayed: RelayInput): Promise<Response> {
  const { request, settler, miss } = relayed;
  const { translation } = relayed.forwarded;
  const isRefusal = !relayed.forwarded.response.ok;
  const forwarded =
    translation !== null && isRefusal
      ? await translatedRefusal(call, relayed.forwarded, translation)
      : relayed.forwarded;
  const stages =
    translation === null
      ? relayed.stages
      : [translationStage(call, translation, (fault) => tapped?.breakOff(fault)), ...relayed.stages];
  const { response, head, cancellation, sentMs } = forwarded;
  const { headers: upstreamHeaders } = response;
  const status = clientStatus(response.status);
  const contentType = upstreamHeaders.get("content-type");
  const events = isEventStream(contentType);
  const headersOf = (type: string | null, known: Known): Record<string, string> => ({
    ...clientHeaders(upstreamHeaders, type),
    ...gatewayHeaders(call, known),
    ...(isEventStream(type) ? STREAM_HEADERS : {}),
  });
  // the answer of a translated call is stored nowhere
  const ids = response.ok && translation === null ? answerIdsOf(call, request, forwarded.target) : null;
  const { billedBy } = call.route;
  // an answer that is only read, cancelled or downloaded was not made for this request
  const { method } = call.request;
  const isMade = method === "POST" && storedAnswerOf(method, call.path) === null && isText(contentType);
  const seen = { content: TEXT_BILLED.has(billedBy), anyForm: billedBy === "tokens" && isMade, events };
  const scan = new UsageScan(seen, ids?.add);
  const buffer =
    miss !== null && response.status === 200 && !upstreamHeaders.has("content-encoding")
      ? new BoundedBuffer(CACHE_BODY_MAX_BYTES, call.memory.cacheMemory.open())
      : null;
  const captured = isText(contentType) && !upstreamHeaders.has("content-encoding") ? relayed.captured : null;
  const onClient = (chunk: Uint8Array): void => {
    buffer?.push(chunk);
    captured?.push(chunk);
  };
  let firstByteMs: number | null = null;
  let isEnding = false;
  let tapped: TappedBody | null = null;
  let clientType = contentType;
  let { boonReport } = request;
  let shownStatus = status;
  let isBrokenByStage = (): boolean => false;
  const atEnd: (() => void)[] = [];

  /** The failure of an answer that has started. */
  const brokenBy = (reason: string): GatewayError => {
    call.memory.endpoints.failed(forwarded.target.key, call.ports.clock());
    return reportBrokenStream(call, request.model, reason, scan.bytes);
  };
  const cutReason = (): string =>
    cancellation.timedOut === null ? (tapped?.fault ?? "connection broke") : `timed out: ${cancellation.timedOut}`;

  const isWhole = (): boolean => events && response.ok && scan.isDone;

  const finish = (bodyEnd: BodyEnd): void => {
    cancellation.release();
    for (const free of atEnd) free();
    const { interrupted, readerStalled, timedOut } = cancellation;
    // A client that has got the end may leave before its upstream does.
    const end = bodyEnd === "gone" && isWhole() && tapped === null && !readerStalled ? "complete" : bodyEnd;
    const ttftMs = firstByteMs === null ? 0 : Math.max(0, firstByteMs - sentMs);
    // A client that is interrupted did not leave, even if it does not take the error any more. A stage ends its stream in order.
    const isCut = end !== "complete" || (events && stages.length > 0);
    const stopped = isCut && ENDED_BY_GATEWAY.has(interrupted?.code ?? "") ? interrupted : null;
    const isFailed = events && response.ok && scan.hasError;
    // SDKs leave at an error: they do not read the body of a refusal, nor bytes after an error event.
    const isLeft = end === "gone" && !isFailed && !isBrokenByStage() && (response.ok || readerStalled);
    const statusCode = stopped?.status ?? (isLeft ? 499 : shownStatus);
    forwarded.span.set({ ttft_ms: ttftMs, ...(events ? { stream: true } : {}), ...scan.facts() });
    if (isFailed || (end === "broken" && tapped?.complete !== true)) forwarded.span.fail();
    forwarded.span.end(call.ports.clock());
    let failure: GatewayError | ClientGone | null = null;
    if (stopped !== null) failure = stopped;
    else if (isFailed) failure = brokenBy("error event");
    else if (isBrokenByStage()) failure = interrupted ?? new GatewayError("upstream_stream_error");
    else if (end === "complete" && response.ok) call.memory.endpoints.answered(forwarded.target.key);
    else if (end === "broken" && tapped?.complete === true) failure = new GatewayError("upstream_stream_error");
    else if (end === "broken" && interrupted !== null) failure = interrupted;
    else if (end === "broken") {
      if (timedOut !== null) request.upstream.count("timeout");
      failure = brokenBy(cutReason());
    } else if (isLeft) failure = new ClientGone();
    if (!response.ok) {
      buffer?.close();
      settler.end({ statusCode, ttftMs, failure, readerStalled });
      return;
    }
    const billed = relayed.bill({
      usage: scan.usage(),
      complete: !isFailed && (tapped === null ? end === "complete" : tapped.complete),
      stream: events,
    });
    // A stage has put an error in the answer's place (docs/rules/boons.md#answers).
    const isRefunded = shownStatus >= 400 && end !== "gone";
    const share = isRefunded ? undefined : ids?.share(billed);
    if (isRefunded)
      settler.end({ statusCode, billed: { ...billed, costUsd: 0 }, refunded: true, ttftMs, failure, readerStalled });
    else if (share === undefined) settler.end({ statusCode, billed, ttftMs, failure, readerStalled });
    else void share.then((own) => settler.end({ statusCode, billed: own, ttftMs, failure, readerStalled }));
    const whole = end === "complete" ? buffer?.take() : null;
    // A boon that failed once may do better the next time.
    const storable = !scan.hasError && boonReport.warnings.length === 0 && !boonReport.failed && shownStatus === 200;
    if (miss !== null && whole && storable) {
      const stored = { body: whole, contentType: clientType ?? "application/json", ...billed };
      call.waitUntil(storeResponse(call, miss, stored, () => buffer?.close()));
    } else buffer?.close();
  };

  /** Settles a request whose stages failed before the client got a byte, and throws the client's error. */
  const failed = (error: unknown, broken: boolean): never => {
    cancellation.release();
    for (const free of atEnd) free();
    buffer?.close();
    forwarded.span.end(call.ports.clock());
    const { clientGone, timedOut, interrupted } = cancellation;
    const used = relayed.bill({ usage: scan.usage(), complete: tapped?.complete === true, stream: events });
    if (clientGone && interrupted === null) {
      const gone = new ClientGone();
      settler.end({ statusCode: 499, billed: used, failure: gone });
      throw gone;
    }
    if (broken && interrupted === null) brokenBy(cutReason());
    const failure =
      interrupted ?? (broken ? new GatewayError(timedOut === null ? "upstream_failed" : "upstream_timeout") : error);
    const statusCode = failure instanceof GatewayError ? failure.status : 500;
    // Tokens in a row are charged, and this client got nothing.
    const billed = ENDED_BY_GATEWAY.has(interrupted?.code ?? "") ? NOTHING_BILLED : { ...used, costUsd: 0 };
    settler.end({ statusCode, billed, refunded: true, failure });
    throw failure;
  };

  const { body } = response;
  if (body === null) {
    finish("complete");
    return new Response(null, { status, headers: headersOf(contentType, request) });
  }
  const onUpstream = (chunk: Uint8Array): Promise<void> | undefined => {
    firstByteMs ??= call.ports.clock();
    scan.push(chunk);
    if (isWhole() && !isEnding) {
      isEnding = true;
      atEnd.push(call.timer.after(END_WITHIN_MS, () => cancellation.finish()));
    }
    // Before the client has them: its next request may name them.
    return ids?.remember();
  };
  const transforms = events ? responseTransformsOf(forwarded.applied) : [];
  const turns = new ByteTurns(call);
  atEnd.push(() => turns.end());
  const job: RelayJob = {
    path: call.path,
    requestId: call.requestId,
    body,
    head,
    cancellation,
    clock: call.ports.clock,
    timer: call.timer,
    turns,
    stalledReaderMs: call.config.stalledReaderMs,
    keepAliveMs: request.model.stream_keepalive_secs * 1000,
    events,
    transforms,
    isWhole,
    onUpstream,
    onClient,
  };
  const answered = ({ readable, ended }: RelayedBody, headers: Record<string, string>): Response => {
    call.waitUntil(
      ended.then(finish).catch(() => {
        buffer?.close();
        settler.abandon();
      }),
    );
    return new Response(readable, { status: shownStatus, headers });
  };
  if (stages.length > 0 && response.ok) {
    tapped = new TappedBody(job, cancellation, onUpstream);
    const coding = upstreamHeaders.get("content-encoding");
    const first = { status, contentType: contentType ?? "", coding, body: tapped.body };
    const staged = await runStages(stages, first, (free) => atEnd.push(free)).catch((error: unknown) =>
      failed(error, tapped?.broken === true),
    );
    clientType = staged.contentType;
    isBrokenByStage = staged.isBroken;
    if (staged.warnings.length > 0) boonReport = withWarnings(boonReport, staged.warnings);
    shownStatus = staged.status;
    const toClient = {
      ...job,
      events: isEventStream(clientType),
      isWhole: () => false,
      onUpstream: () => undefined,
      fault: () => tapped?.fault ?? null,
    };
    return answered(relayPump(toClient, anyReader(staged.body)), {
      ...headersOf(clientType, { ...request, boonReport }),
      ...(staged.status === 429 && staged.retryAfter ? { "retry-after": staged.retryAfter } : {}),
    });
  }
  if (response.ok && head.byteLength === smallAnswerBytes(upstreamHeaders)) {
    await onUpstream(head);
    onClient(head);
    finish(cancellation.clientGone ? "gone" : "complete");
    return new Response(head, { status, headers: headersOf(contentType, request) });
  }
  const native = response.ok && events && transforms.length === 0 && ids === null;
  return answered(native ? relayNative(job) : relayPump(job), headersOf(contentType, request));
}

function withWarnings(report: BoonReport, warnings: readonly string[]): BoonReport {
  return { ...report, warnings: [...report.warnings, ...warnings] };
}

function responseTransformsOf(applied: readonly TransformPlan[]): readonly ResponseTransform[] {
  return applied.flatMap(({ response }) => (response === null ? [] : [response()]));
}
