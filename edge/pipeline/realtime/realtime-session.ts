/**
 * A realtime session that has its slot and its upstream (docs/rules/realtime.md): events go both ways, each side's in its order.
 * A response reserves its budgets before its upstream makes it, and is settled when that says that it is done. The session ends
 * once: when a side closes, when it may not go on, or when a message cannot be passed on. Invariant: at its end every response is
 * settled, and the session itself.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { type ErrorCode, GatewayError } from "../../../shared/errors.ts";
import { RATE_NAMES, RATES } from "../../domain/budget/rates.ts";
import { eventFault } from "../../domain/realtime/client-events.ts";
import { type Closing, closingOf, passedOn } from "../../domain/realtime/close-codes.ts";
import { ConversationTokens } from "../../domain/realtime/conversation-tokens.ts";
import { MessageRate } from "../../domain/realtime/message-rate.ts";
import {
  errorEventOf,
  eventOf,
  failedResponse,
  heardCharacters,
  isOfClient,
  isTextless,
  mayShowAnswer,
  outputLimitOf,
  type RealtimeEvent,
  responseIdOf,
} from "../../domain/realtime/realtime-events.ts";
import { estimateTokens, withOutput } from "../../domain/request/token-estimate.ts";
import {
  isJsonObject,
  type JsonObject,
  jsonObjectOf,
  PARSE_WHOLE_MAX_BYTES,
  wholeDocument,
} from "../../domain/wire/json/document.ts";
import { parsedInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import type { Reload } from "../admit/admit.ts";
import { authenticate } from "../authenticate/authenticate.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { changesAnswers } from "../call/guards.ts";
import { inTurns } from "../call/in-turns.ts";
import { StageFailure } from "../call/known.ts";
import { reportBrokenStream } from "../call/report/upstream-alerts.ts";
import { StallWatch } from "../call/stall-watch.ts";
import { fieldError } from "../resolve-model/field-error.ts";
import type { Settler } from "../settle/settle.ts";
import { checkEvent } from "./check-event.ts";
import { type GuardedEvents, guardedEvent, guardedEvents, guardRefusal } from "./guard-event.ts";
import { type Message, MessageQueue } from "./message-queue.ts";
import { callOnSession, type OpenSession, ResponseCall } from "./response-call.ts";
import { closeWith, dismiss, sendTo } from "./sockets.ts";

/** The two connections of a session. */
interface Sockets {
  readonly client: WebSocket;
  readonly upstream: WebSocket;
}

/** A response that its upstream makes. */
interface Underway {
  readonly response: ResponseCall;
  /** Null: nothing of it is examined. */
  readonly guarded: GuardedEvents | null;
}

/** What refuses an event of the client, and not its session. */
const OF_ONE_EVENT: ReadonlySet<string> = new Set<ErrorCode>([
  "invalid_json",
  "validation_failed",
  "object_not_found",
  "key_store_unavailable",
  "request_blocked",
  "content_policy_unavailable",
  "request_larger_than_quota",
  ...RATE_NAMES.map((rate) => RATES[rate].code),
]);

export class RealtimeSession {
  readonly #call: Call;
  readonly #sockets: Sockets;
  readonly #settler: Settler;
  readonly #reload: Reload;
  readonly #tokens = new ConversationTokens();
  readonly #said = { text: "" };
  /** Responses that the client has asked for, by the id of its event, in their order. */
  readonly #asked = new Map<string, ResponseCall>();
  readonly #underway = new Map<string, Underway>();
  readonly #silence: StallWatch;
  readonly #callOffs: (() => void)[] = [];
  /** With the caller and the model as they were read last. */
  #request: OpenSession;
  #maxOutputTokens: number | null = null;
  #receivedBytes = 0;
  #hasEnded = false;

  constructor(call: Call, request: OpenSession, sockets: Sockets, settler: Settler, reload: Reload) {
    this.#call = call;
    this.#request = request;
    this.#sockets = sockets;
    this.#settler = settler;
    this.#reload = reload;
    const { timer, ports, interruption, config } = call;
    const idle = (): void => this.#fail(new GatewayError("realtime_session_idle"));
    this.#silence = new StallWatch(timer, ports.clock, LIMITS.realtimeSilence, idle);
    this.#callOffs.push(
      () => this.#silence.end(),
      timer.after(config.realtimeMaxMs, () => this.#fail(new GatewayError("realtime_session_expired"))),
      interruption.listen(() => this.#fail(interruption.failure)),
    );
  }

  start(): void {
    const { client, upstream } = this.#sockets;
    const { realtimeClientMessages, realtimeUpstreamMessages } = LIMITS;
    this.#listen(client, this.#queue(realtimeClientMessages, this.#fromClient.bind(this)), new ClientGone());
    this.#listen(upstream, this.#queue(realtimeUpstreamMessages, this.#fromUpstream.bind(this)), null);
    this.#silence.begin();
  }

  #queue(perSecond: number, handle: (message: Message) => Promise<void>): MessageQueue {
    const handling = { handle, failed: (error: unknown) => this.#fail(error) };
    const queue = new MessageQueue(new MessageRate(perSecond), this.#call.ports, handling);
    this.#callOffs.push(() => queue.clear());
    return queue;
  }

  /**
   * What a side has sent is handled before its end; nothing is left to do for a client that is gone.
   * `lost`: what the session fails with when the connection breaks off; null: with what that is reported as.
   */
  #listen(socket: WebSocket, queue: MessageQueue, lost: ClientGone | null): void {
    const broken = (): void => {
      if (!this.#hasEnded) this.#end(lost ?? this.#brokenUpstream(), { code: 1001, reason: "" });
    };
    const breakOff = (): void => (lost === null ? queue.end(broken) : broken());
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) => {
      if (this.#hasEnded) return;
      this.#silence.begin();
      queue.push(data as Message);
    });
    socket.addEventListener("close", ({ code, reason }) => {
      if (code === 1006) breakOff();
      else
        queue.end(() => this.#end(null, passedOn({ code, reason }), lost ?? new GatewayError("upstream_stream_error")));
    });
    socket.addEventListener("error", breakOff);
    socket.accept();
  }

  #brokenUpstream(): GatewayError {
    return reportBrokenStream(this.#call, this.#request.model, "the connection was lost", this.#receivedBytes);
  }

  async #fromClient(message: Message): Promise<void> {
    const event = eventOf(await this.#parsed(message));
    try {
      if (event === null) throw new GatewayError("invalid_json");
      const fault = eventFault(event);
      if (fault !== null) throw fieldError(fault);
      await this.#pass(isTextless(event) ? event : await this.#examined(event));
    } catch (error) {
      const { cause } = StageFailure.of(error, this.#request);
      if (!(cause instanceof GatewayError) || !OF_ONE_EVENT.has(cause.code)) throw cause;
      this.#tell(cause, event?.["event_id"]);
    }
  }

  /** The event as the caller's policy, as it is now, lets it pass. Throws what refuses the event, or by now the caller. */
  async #examined(event: RealtimeEvent): Promise<RealtimeEvent> {
    const { principal, identity } = await authenticate(this.#call, this.#request);
    this.#request = { ...this.#request, principal, identity };
    await checkEvent(this.#call, this.#request, event);
    return await guardedEvent(this.#call, this.#request, event, this.#said);
  }

  async #pass(event: RealtimeEvent): Promise<void> {
    let passed = event;
    if (event.type === "response.create") return await this.#ask(event);
    if (isJsonObject(event["session"])) passed = await this.#configured(event, event["session"]);
    else if (isJsonObject(event["item"])) await this.#added(event["item"]);
    else this.#tokens.heard(heardCharacters(event));
    this.#send("upstream", JSON.stringify(passed));
  }

  /** Sends the event that asks for a response, once that has reserved its budgets. */
  async #ask(event: RealtimeEvent): Promise<void> {
    const { event_id: given = `event_${this.#call.ports.random.uuid()}` } = event;
    if (typeof given !== "string" || this.#asked.has(given))
      throw fieldError({ param: "event_id", message: "event_id must be a text of its own" });
    const settings = jsonObjectOf(event["response"]);
    const { instructions, tools, input } = settings ?? {};
    const own = await this.#tokensOf({ instructions, tools, input });
    const response = await this.#reserve(own, outputLimitOf(settings));
    if (this.#hasEnded) return response.notBegun(new ClientGone());
    this.#send("upstream", JSON.stringify({ ...event, event_id: given }));
    if (this.#hasEnded) response.notBegun(new GatewayError("realtime_backlog"));
    else this.#asked.set(given, response);
  }

  /** Throws what refuses the response. */
  async #reserve(ownTokens: number, maxOutputTokens?: number | null): Promise<ResponseCall> {
    if (this.#asked.size + this.#underway.size >= LIMITS.realtimeResponses) throw new GatewayError("realtime_backlog");
    const limitTokens = maxOutputTokens === undefined ? this.#maxOutputTokens : maxOutputTokens;
    const estimate = withOutput(this.#tokens.inputTokens + ownTokens, { limitTokens, answers: 1 });
    return await ResponseCall.reserve(this.#call, this.#request, estimate, this.#reload);
  }

  /** The event with the upstream's own name of the model: a session keeps its model. */
  async #configured(event: RealtimeEvent, session: JsonObject): Promise<RealtimeEvent> {
    const { model, instructions, tools } = session;
    const { parsed, model: record } = this.#request;
    if (model !== undefined && model !== parsed.modelName && model !== record.upstream_model)
      throw fieldError({ param: "session.model", message: "session.model must be the model of the connection" });
    const limit = outputLimitOf(session);
    if (limit !== undefined) this.#maxOutputTokens = limit;
    this.#tokens.configured(session, await this.#tokensOf({ instructions, tools }));
    return model === undefined ? event : { ...event, session: { ...session, model: record.upstream_model } };
  }

  async #added(item: JsonObject): Promise<void> {
    this.#tokens.said(await this.#tokensOf({ input: [item] }));
    const { content } = item;
    if (!Array.isArray(content)) return;
    for (const part of content.filter(isJsonObject))
      if (typeof part["audio"] === "string") this.#tokens.heard(part["audio"].length);
  }

  async #tokensOf(read: JsonObject): Promise<number> {
    return (await inTurns(this.#call, estimateTokens("responses", wholeDocument(read)))).inputTokens;
  }

  async #fromUpstream(message: Message): Promise<void> {
    this.#receivedBytes += typeof message === "string" ? message.length : message.byteLength;
    const event = eventOf(await this.#parsed(message));
    // by now its response may be settled as one that broke off
    if (this.#hasEnded) return;
    const isExamined = changesAnswers(this.#request.principal.tenant);
    if (event === null) return isExamined ? undefined : this.#send("client", message);
    // What is read as a line must be one.
    const text = typeof message !== "string" || /[\r\n]/.test(message) ? JSON.stringify(event) : message;
    if (event.type === "response.created") await this.#created(responseIdOf(event) ?? "");
    else if (event.type === "error") this.#refused(event);
    else if (event.type.endsWith("_transcription.completed")) await this.#transcribed(event, text);
    const id = event.type === "response.done" ? await this.#ended(event, text) : (responseIdOf(event) ?? "");
    const its = this.#underway.get(id);
    its?.response.saw(event, text);
    const { guarded = null } = its ?? (mayShowAnswer(event) ? [...this.#underway.values()].at(-1) : null) ?? {};
    if (guarded !== null) await guarded.push(text);
    else if (its === undefined && isExamined && mayShowAnswer(event)) await this.#late(event, text);
    else this.#send("client", text);
    if (event.type === "response.done" && its !== undefined) await this.#done(id, its, event);
  }

  /** A response begins: one that was asked for, or one by which the upstream answers what it has heard. "": it has no id. */
  async #created(id: string): Promise<void> {
    if (this.#underway.has(id)) return;
    const response = this.#longestAsked() ?? (await this.#reserve(0));
    if (this.#hasEnded) return response.broken(new ClientGone());
    this.#begin(id, response);
  }

  #begin(id: string, response: ResponseCall): void {
    this.#underway.set(id, { response, guarded: guardedEvents(response, (text) => this.#send("client", text)) });
  }

  /** The response that was asked for first of those that have not begun; it has now. */
  #longestAsked(): ResponseCall | null {
    const [asked] = this.#asked;
    if (asked === undefined) return null;
    this.#asked.delete(asked[0]);
    return asked[1];
  }

  /** The id of the response that is done, of those under way. One that never began is charged all the same. */
  async #ended(event: RealtimeEvent, text: string): Promise<string> {
    const given = responseIdOf(event);
    const [oldest] = given === null ? this.#underway.keys() : [""];
    const id = given !== null && this.#underway.has(given) ? given : (oldest ?? "");
    if (this.#underway.has(id)) return id;
    const asked = this.#longestAsked();
    const { usage, status } = jsonObjectOf(event["response"]) ?? {};
    if (asked !== null) this.#begin(id, asked);
    else if (isJsonObject(usage)) await this.#charge(event, text, status);
    return id;
  }

  async #done(id: string, { response, guarded }: Underway, event: RealtimeEvent): Promise<void> {
    const refusal = await guardRefusal(guarded);
    if (refusal !== null) {
      this.#tell(refusal);
      this.#send("client", JSON.stringify(failedResponse(event, refusal.code)));
    }
    if (this.#underway.delete(id))
      this.#tokens.responded(response.done(jsonObjectOf(event["response"])?.["status"], refusal));
  }

  /** An event that may show an answer while no response is under way. What would go on in another one is not passed on. */
  async #late(event: RealtimeEvent, text: string): Promise<void> {
    if (isOfClient(event)) return this.#send("client", text);
    if (event.type.endsWith(".delta")) return;
    const guarded = guardedEvents({ call: callOnSession(this.#call), request: this.#request }, (passed) =>
      this.#send("client", passed),
    );
    await guarded?.push(text);
    const refusal = await guardRefusal(guarded);
    if (refusal !== null) this.#tell(refusal);
  }

  /** The upstream refuses an event of the client, which may be one that asked for a response. */
  #refused(event: RealtimeEvent): void {
    const id = jsonObjectOf(event["error"])?.["event_id"];
    if (typeof id !== "string") return;
    this.#asked.get(id)?.notBegun(new GatewayError("upstream_failed"));
    this.#asked.delete(id);
  }

  /** What the client said was written down by another model of the upstream. */
  async #transcribed(event: RealtimeEvent, text: string): Promise<void> {
    if (typeof jsonObjectOf(event["usage"])?.["input_tokens"] !== "number") return;
    await this.#charge(event, text, "completed");
  }

  /** Charges what the upstream has done without being asked. Throws what does not cover it. */
  async #charge(event: RealtimeEvent, text: string, status: unknown): Promise<void> {
    const estimate = withOutput(this.#tokens.inputTokens, { limitTokens: null, answers: 1 });
    const { response, refusal } = await ResponseCall.unasked(this.#call, this.#request, estimate, this.#reload);
    response.saw(event, text);
    response.done(status);
    if (refusal !== null) throw refusal;
  }

  /** Undefined: it is not JSON. */
  async #parsed(message: Message): Promise<unknown> {
    try {
      const text =
        typeof message === "string"
          ? message
          : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(message);
      if (text.length <= PARSE_WHOLE_MAX_BYTES) return JSON.parse(text);
      return await inTurns(this.#call, parsedInSteps(text));
    } catch (error) {
      if (error instanceof ClientGone) throw error;
      return undefined;
    }
  }

  #send(to: keyof Sockets, message: Message): void {
    if (this.#hasEnded) return;
    const socket = this.#sockets[to];
    if (socket.bufferedAmount > LIMITS.realtimeBacklog) this.#fail(new GatewayError("realtime_backlog"));
    else sendTo(socket, message);
  }

  /** Tells the client of an error. `about`: the id of its event that caused it. */
  #tell(error: GatewayError, about: unknown = null): void {
    this.#send("client", this.#told(error, about));
  }

  #told({ body }: GatewayError, about: unknown = null): string {
    return JSON.stringify(errorEventOf(body.error, this.#call.ports.random.uuid(), about));
  }

  /** Ends the session with what it may not, or cannot, go on for. */
  #fail(thrown: unknown): void {
    if (this.#hasEnded) return;
    const { cause } = StageFailure.of(thrown, this.#request);
    const failure = cause instanceof ClientGone ? (this.#call.interruption.failure ?? cause) : cause;
    if (failure instanceof ClientGone) this.#end(failure, { code: 1001, reason: "" });
    else if (failure instanceof GatewayError) this.#end(failure, closingOf(failure));
    else this.#fail(new GatewayError("internal_error", { cause: failure }));
  }

  /** `left`: what responses fail with that are under way, when it is not the session's own failure. */
  #end(
    failure: GatewayError | ClientGone | null,
    closing: Closing,
    left: GatewayError | ClientGone | null = failure,
  ): void {
    if (this.#hasEnded) return;
    if (failure instanceof GatewayError) sendTo(this.#sockets.client, this.#told(failure));
    this.#hasEnded = true;
    for (const callOff of this.#callOffs) callOff();
    const { client, upstream } = this.#sockets;
    dismiss(client, failure instanceof GatewayError ? closingOf(failure) : closing, this.#call);
    closeWith(upstream, failure instanceof GatewayError ? { code: 1000, reason: "" } : closing);
    const reason = left ?? new ClientGone();
    // Their upstream may have begun them.
    for (const asked of this.#asked.values()) asked.broken(reason);
    for (const { response, guarded } of this.#underway.values()) {
      guarded?.end().catch(() => undefined);
      response.broken(reason);
    }
    this.#underway.clear();
    this.#settler.end({ statusCode: 101, ...(failure === null ? {} : { failure }) });
  }
}
