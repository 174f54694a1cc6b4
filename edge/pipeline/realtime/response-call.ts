/**
 * A response of a realtime session (docs/rules/realtime.md#budgets): a sub-call on the slot of its session. It reserves its
 * budgets before it runs, and is settled with its own row when it ends, exactly once.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { Measure } from "../../../shared/money/cost.ts";
import type { Steps } from "../../../shared/steps.ts";
import { ENDED_BY_GATEWAY } from "../../domain/admission/request-end.ts";
import { spokenTokens, type Turn } from "../../domain/realtime/conversation-tokens.ts";
import { type RealtimeEvent, spokenCharacters } from "../../domain/realtime/realtime-events.ts";
import type { TokenEstimate } from "../../domain/request/token-estimate.ts";
import { Trace } from "../../domain/trace/trace.ts";
import { type BilledAnswer, type BilledTokens, NOTHING_BILLED } from "../../domain/usage/billing.ts";
import { UsageScan } from "../../domain/usage/usage-scan.ts";
import { wholeDocument } from "../../domain/wire/json/document.ts";
import { type AdmittedRequest, admit, type Reload } from "../admit/admit.ts";
import { admitSubCall } from "../admit/admit-sub-call.ts";
import { BoonRuns } from "../call/boon-runs.ts";
import { ClientGone } from "../call/client-gone.ts";
import { type Call, OnceLatch } from "../call/context.ts";
import { Interruption } from "../call/interruption.ts";
import { NO_EDITS, type Prepared } from "../call/known.ts";
import { UpstreamProgress } from "../forward/upstream-progress.ts";
import { causeOf } from "../receive/answer-call.ts";
import { billed } from "../relay/serve-admitted.ts";
import { NO_BODY } from "../resolve-model/passthrough-body.ts";
import { Settler } from "../settle/settle.ts";

/** A session whose upstream was asked. */
export type OpenSession = AdmittedRequest & { readonly upstream: UpstreamProgress };

const encoder = new TextEncoder();
/** Bytes that are scanned at once; so many are a unit of work. */
const PART_BYTES = 16 * 1024;
const BYTES_PER_UNIT = 8;
/** The facts by which responses are billed. */
const TOKENS: Measure = { kind: "tokens" };

/** A separate call on the connection of a session. */
export function callOnSession(session: Call): Call {
  const nowMs = session.ports.clock();
  return {
    ...session,
    sharesSlot: true,
    requestId: session.ports.random.uuid(),
    parentId: session.requestId,
    route: { ...session.route, estimate: "responses", billedBy: "tokens" },
    arrivedMs: nowMs,
    cleanups: [],
    interruption: new Interruption(session.interruption),
    trace: new Trace(nowMs),
    endReport: new OnceLatch(),
    boonRuns: new BoonRuns(),
  };
}

/** The reserved amounts. */
interface Expected {
  readonly estimate: TokenEstimate;
  readonly measure?: Measure;
  /** Of a response; otherwise something else is charged. */
  readonly turn?: Turn;
}

/** A request of the session for the same caller and model, with its own estimate. */
function requestOf(session: OpenSession, { estimate, measure = TOKENS }: Expected, nowMs: number): OpenSession {
  const own = new UpstreamProgress();
  const { upstream } = session;
  own.begin({ name: upstream.endpoint, apiBase: upstream.apiBase });
  own.sent(session.model, nowMs);
  const parsed = { ...session.parsed, document: wholeDocument({}), outgoing: NO_BODY, edits: NO_EDITS };
  return { ...session, parsed, estimate, measure: () => measure, queueWaitMs: 0, upstream: own };
}

export class ResponseCall {
  readonly call: Call;
  readonly request: OpenSession;
  readonly turn: Turn | null;
  readonly #settler: Settler;
  readonly #scan = new UsageScan({ content: true, events: true });
  readonly #sentMs: number;
  #spokenCharacters = 0;
  #ttftMs = 0;

  private constructor(call: Call, request: OpenSession, turn: Turn | null = null) {
    this.call = call;
    this.request = request;
    this.turn = turn;
    this.#sentMs = call.ports.clock();
    this.#settler = new Settler(call, request);
  }

  /** Reserves the budgets. Throws what refuses it, with its row on its way. */
  static async reserve(session: Call, request: OpenSession, expected: Expected, reload: Reload): Promise<ResponseCall> {
    const call = callOnSession(session);
    const asked = requestOf(request, expected, call.ports.clock());
    try {
      const admitted = await admit(call, asked, reload);
      return new ResponseCall(call, { ...admitted, upstream: asked.upstream }, expected.turn ?? null);
    } catch (error) {
      throw causeOf(call, error);
    }
  }

  /**
   * Other work of an upstream that nobody asked for: it is charged even if that creates a debt. `refusal`: the refusal of its
   * budgets, which must end the session.
   */
  static async unasked(
    session: Call,
    request: OpenSession,
    expected: Expected,
    reload: Reload,
  ): Promise<{ readonly response: ResponseCall; readonly refusal: unknown }> {
    try {
      const uncounted: Call = { ...session, isUncounted: true };
      return { response: await ResponseCall.reserve(uncounted, request, expected, reload), refusal: null };
    } catch (refusal) {
      return { response: await ResponseCall.#indebted(session, request, expected), refusal };
    }
  }

  static async #indebted(session: Call, request: OpenSession, expected: Expected): Promise<ResponseCall> {
    const { sharesSlot: _reserves, ...call } = callOnSession(session);
    const asked = requestOf(request, expected, call.ports.clock());
    try {
      return new ResponseCall(call, { ...(await admitSubCall(call, asked)), upstream: asked.upstream });
    } catch (error) {
      throw causeOf(call, error);
    }
  }

  /** An event of the response. */
  *saw(event: RealtimeEvent, text: string): Steps<void> {
    if (this.#ttftMs === 0 && event.type.endsWith(".delta"))
      this.#ttftMs = Math.max(1, this.call.ports.clock() - this.#sentMs);
    const spoken = spokenCharacters(event);
    this.#spokenCharacters += spoken;
    if (spoken > 0) return;
    const bytes = encoder.encode(`data: ${text}\n\n`);
    for (let at = 0; at < bytes.byteLength; at += PART_BYTES) {
      this.#scan.push(bytes.subarray(at, at + PART_BYTES));
      yield PART_BYTES / BYTES_PER_UNIT;
    }
  }

  /**
   * It has ended, by its upstream's report. Returns its tokens. `refusal`: its client gets none of it, and pays for it only if
   * the refusal is due to the client's own input.
   */
  done(status: unknown, refusal: GatewayError | null = null, isOwed = false): BilledTokens {
    const isFailed = status === "failed" && this.#scan.usage().reported === null;
    const bill = isFailed ? NOTHING_BILLED : billed(this.call, this.request, this.#answer(true));
    this.request.upstream.answered(200);
    const failure = refusal ?? (status === "failed" ? new GatewayError("upstream_stream_error") : undefined);
    this.#settler.end({
      statusCode: refusal?.status ?? 200,
      ttftMs: this.#ttftMs,
      billed: bill,
      ...(refusal === null || isOwed ? {} : { refunded: true }),
      ...(failure === undefined ? {} : { failure }),
    });
    return bill;
  }

  /** Its session has ended before it. */
  broken(failure: GatewayError | ClientGone): void {
    this.request.upstream.answered(200);
    const isEnded = failure instanceof GatewayError && ENDED_BY_GATEWAY.has(failure.code);
    const statusCode = failure instanceof ClientGone ? 499 : isEnded ? failure.status : 200;
    this.#settler.end({
      statusCode,
      ttftMs: this.#ttftMs,
      billed: billed(this.call, this.request, this.#answer(false)),
      failure,
    });
  }

  /** No upstream has started it. */
  notBegun(failure: GatewayError | ClientGone): void {
    this.#settler.end({ statusCode: failure instanceof GatewayError ? failure.status : 499, failure });
  }

  #answer(complete: boolean): BilledAnswer {
    const usage = this.#scan.usage();
    const seenTokens = usage.seenTokens + spokenTokens(this.#spokenCharacters);
    return { usage: { ...usage, seenTokens }, complete, stream: true };
  }
}

/** The same request for another look at it: a prepared one with this body. */
export function withBody(request: OpenSession, parsed: Prepared["parsed"]): OpenSession {
  return { ...request, parsed, guarded: null };
}
