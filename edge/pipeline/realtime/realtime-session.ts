/**
 * A realtime session that has its slot and its upstream (docs/rules/realtime.md): events go both ways, each side's in order. A
 * response reserves its budgets before its upstream makes it, and is settled when the upstream reports its end. The session
 * ends once: when a side closes, when it may not continue, or when a message cannot be passed on. Invariant: at its end every
 * response is settled, and the session itself.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { type ErrorCode, GatewayError } from "../../../shared/errors.ts";
import { RATE_NAMES, RATES } from "../../domain/budget/rates.ts";
import { eventFault } from "../../domain/realtime/client-events.ts";
import { type Closing, closingOf, passedOn } from "../../domain/realtime/close-codes.ts";
import { EventIds, type NumberedEvent, refusedIdOf, withGivenId } from "../../domain/realtime/event-ids.ts";
import { MessageRate } from "../../domain/realtime/message-rate.ts";
import {
  errorEventOf,
  eventOf,
  heardCharacters,
  isTextless,
  type RealtimeEvent,
  statesSettings,
} from "../../domain/realtime/realtime-events.ts";
import { SaidBefore } from "../../domain/realtime/said-before.ts";
import { endUserOf } from "../../domain/request/attribution.ts";
import { isJsonObject, type JsonObject, wholeDocument } from "../../domain/wire/json/document.ts";
import type { Reload } from "../admit/admit.ts";
import { authenticate } from "../authenticate/authenticate.ts";
import { authenticateNow } from "../authenticate/authenticate-now.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { changesAnswers } from "../call/guards.ts";
import { StageFailure } from "../call/known.ts";
import { reportBrokenStream } from "../call/report/upstream-alerts.ts";
import { StallWatch } from "../call/stall-watch.ts";
import { fieldError } from "../resolve-model/field-error.ts";
import type { Settler } from "../settle/settle.ts";
import { checkEvent } from "./check-event.ts";
import { guardedEvent, guardedSpoken, showsSpoken } from "./guard-event.ts";
import { type Message, MessageQueue } from "./message-queue.ts";
import { parsedMessage, writtenMessage } from "./parsed-message.ts";
import type { OpenSession } from "./response-call.ts";
import { type SessionOfResponses, SessionResponses } from "./session-responses.ts";
import { closeWith, dismiss, sendTo } from "./sockets.ts";

/** The two connections of a session. */
interface Sockets {
  readonly client: WebSocket;
  readonly upstream: WebSocket;
}

/** What refuses an event of the client, and not its session. */
const OF_ONE_EVENT: ReadonlySet<string> = new Set<ErrorCode>([
  "invalid_json",
  "validation_failed",
  "object_not_found",
  "key_store_unavailable",
  "scheduler_unavailable",
  "request_blocked",
  "response_blocked",
  "content_policy_unavailable",
  "request_larger_than_quota",
  ...RATE_NAMES.map((rate) => RATES[rate].code),
]);

export class RealtimeSession implements SessionOfResponses {
  readonly call: Call;
  readonly reload: Reload;
  readonly #sockets: Sockets;
  readonly #settler: Settler;
  readonly #eventIds = new EventIds();
  readonly #said = new SaidBefore();
  readonly #responses: SessionResponses;
  readonly #silence: StallWatch;
  readonly #callOffs: (() => void)[] = [];
  /** With the caller and the model as they were read last. */
  #request: OpenSession;
  #receivedBytes = 0;
  #hasEnded = false;

  constructor(call: Call, request: OpenSession, sockets: Sockets, settler: Settler, reload: Reload) {
    this.call = call;
    this.#request = request;
    this.#sockets = sockets;
    this.#settler = settler;
    this.reload = reload;
    this.#responses = new SessionResponses(this);
    const { timer, ports, config } = call;
    const idle = (): void => this.#fail(new GatewayError("realtime_session_idle"));
    this.#silence = new StallWatch(timer, ports.clock, LIMITS.realtimeSilence, idle);
    this.#callOffs.push(
      () => this.#silence.end(),
      timer.after(config.realtimeMaxMs, () => this.#fail(new GatewayError("realtime_session_expired"))),
    );
  }

  get request(): OpenSession {
    return this.#request;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  start(): void {
    const { client, upstream } = this.#sockets;
    const { realtimeClientMessages, realtimeUpstreamMessages } = LIMITS;
    this.#listen(client, this.#queue(realtimeClientMessages, this.#fromClient.bind(this)), new ClientGone());
    this.#listen(upstream, this.#queue(realtimeUpstreamMessages, this.#fromUpstream.bind(this)), null);
    this.#silence.begin();
    const { interruption } = this.call;
    this.#callOffs.push(interruption.listen(() => this.#fail(interruption.failure)));
  }

  #queue(perSecond: number, handle: (message: Message) => Promise<void>): MessageQueue {
    const handling = { handle, failed: (error: unknown) => this.#fail(error) };
    const queue = new MessageQueue(new MessageRate(perSecond), this.call, handling);
    this.#callOffs.push(() => queue.clear());
    return queue;
  }

  /**
   * The messages of a side are handled before its end; nothing is left to do for a client that is gone. `lost`: the error of
   * the session when the connection breaks off; null: the reported error.
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
    return reportBrokenStream(this.call, this.#request.model, "the connection was lost", this.#receivedBytes);
  }

  async #fromClient(message: Message): Promise<void> {
    const given = eventOf(await parsedMessage(this.call, message));
    try {
      if (given === null) throw new GatewayError("invalid_json");
      const fault = eventFault(given);
      if (fault !== null) throw fieldError(fault);
      const event = this.#eventIds.numbered(given);
      const isExamined = !isTextless(event) || event.type === "conversation.item.delete";
      await this.#pass(isExamined ? await this.#examined(event) : event, event.event_id);
    } catch (error) {
      this.refuse(error, given?.["event_id"]);
    }
  }

  /** What refuses one event. Throws every other failure. */
  #ofOneEvent(error: unknown): GatewayError {
    const { cause } = StageFailure.of(error, this.#request);
    if (!(cause instanceof GatewayError) || !OF_ONE_EVENT.has(cause.code)) throw cause;
    return cause;
  }

  /** Reads the caller and its policy again. Throws what refuses the caller by now. */
  async readCaller(read = authenticateNow): Promise<void> {
    const { principal, identity } = await read(this.call, this.#request);
    this.#request = { ...this.#request, principal, identity };
  }

  /** The event as the caller's current policy lets it pass. Throws the refusal of the event, or of the caller. */
  async #examined(event: NumberedEvent): Promise<RealtimeEvent> {
    await this.readCaller();
    await checkEvent(this.call, this.#request, event);
    return await guardedEvent(this.call, this.#request, event, this.#said);
  }

  async #pass(event: RealtimeEvent, id: string): Promise<void> {
    const { type, session, item } = event;
    if (type === "response.create") return await this.#responses.ask(event, id);
    // before it counts: what the upstream says meanwhile comes before it
    const text = await writtenMessage(
      this.call,
      isJsonObject(session) ? { ...event, session: this.#ofModel(session) } : event,
    );
    if (isJsonObject(session)) {
      await this.#responses.conversation.asked(id, session);
      const endUser = endUserOf(wholeDocument(session));
      if (endUser !== "") this.#request = { ...this.#request, endUser };
    } else if (isJsonObject(item)) await this.#responses.conversation.added(item);
    else this.#responses.conversation.heard(heardCharacters(event));
    this.send("upstream", text);
  }

  /** The settings with the upstream's own name of the model: a session keeps its model. */
  #ofModel(session: JsonObject): JsonObject {
    const { model } = session;
    const { parsed, model: record } = this.#request;
    if (model === undefined) return session;
    if (model !== parsed.modelName && model !== record.upstream_model)
      throw fieldError({ param: "session.model", message: "session.model must be the model of the connection" });
    return { ...session, model: record.upstream_model };
  }

  async #fromUpstream(message: Message): Promise<void> {
    this.#receivedBytes += typeof message === "string" ? message.length : message.byteLength;
    const event = eventOf(await parsedMessage(this.call, message));
    if (event === null) await this.readCaller();
    else if (!this.#responses.runs(event)) await this.readCaller(authenticate);
    // by now its response may be settled as one that broke off
    if (this.#hasEnded) return;
    const isExamined = changesAnswers(this.#request.principal.tenant);
    if (event === null) return isExamined ? undefined : this.send("client", message);
    if (event.type === "response.created") await this.#responses.begun(event);
    else if (event.type === "error" && !this.#refused(event)) return;
    else if (event.type === "conversation.item.deleted") this.#responses.deleted(event);
    else if (statesSettings(event)) await this.#responses.conversation.stated(event);
    await this.#responses.transcribed(event);
    const shown = event.type === "error" ? withGivenId(event) : await this.#spoken(event);
    if (shown === null) return;
    // Readers take the text as one line, so it must contain no line breaks.
    const isAsItCame =
      !isExamined &&
      shown === event &&
      typeof message === "string" &&
      !message.includes("\n") &&
      !message.includes("\r");
    const text = isAsItCame ? message : await writtenMessage(this.call, shown);
    if (!this.#hasEnded) await this.#responses.pass(shown, text);
  }

  /** The upstream refuses an event. Returns whether it is one of the client. Throws what ends the session. */
  #refused(event: RealtimeEvent): boolean {
    if (!this.#said.refused(refusedIdOf(event))) throw new GatewayError("content_policy_unavailable");
    return this.#responses.refused(event);
  }

  /**
   * The event, as far as it may show the transcript of the client's audio; null: it may not. Throws errors that end the
   * session.
   */
  async #spoken(event: RealtimeEvent): Promise<RealtimeEvent | null> {
    if (!showsSpoken(event)) return event;
    await this.readCaller();
    try {
      return await guardedSpoken(this.call, this.#request, event, this.#said);
    } catch (error) {
      this.#responses.block(event, this.#ofOneEvent(error));
      return null;
    }
  }

  /** Nothing is sent once the session has ended. */
  send(to: keyof Sockets, message: Message): void {
    if (this.#hasEnded) return;
    const socket = this.#sockets[to];
    if (socket.bufferedAmount > LIMITS.realtimeBacklog) this.#fail(new GatewayError("realtime_backlog"));
    else sendTo(socket, message);
  }

  /** Tells the client that one event was refused. Throws every other failure. */
  refuse(error: unknown, about: unknown = null): void {
    this.tell(this.#ofOneEvent(error), about);
  }

  /** Reports an error to the client. `about`: the id of its event that caused it. */
  tell(error: GatewayError, about: unknown = null): void {
    this.send("client", this.#told(error, about));
  }

  #told({ body }: GatewayError, about: unknown = null): string {
    return JSON.stringify(errorEventOf(body.error, this.call.ports.random.uuid(), about));
  }

  /** Ends the session with the reason why it may not, or cannot, continue. */
  #fail(thrown: unknown): void {
    if (this.#hasEnded) return;
    const { cause } = StageFailure.of(thrown, this.#request);
    const failure = cause instanceof ClientGone ? (this.call.interruption.failure ?? cause) : cause;
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
    dismiss(client, failure instanceof GatewayError ? closingOf(failure) : closing, this.call);
    closeWith(upstream, failure instanceof GatewayError ? { code: 1000, reason: "" } : closing);
    this.#responses.broken(left ?? new ClientGone());
    this.#settler.end({ statusCode: 101, ...(failure === null ? {} : { failure }) });
  }
}
