/**
 * The WebSocket mode of Responses (docs/rules/realtime.md#responses-over-a-websocket): each `response.create` is a separate
 * request of `/v1/responses`, whose events are sent as messages. The connection holds no slot. The requests of one lane are
 * answered in order.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import { askedResponse, repeatedItems } from "../../domain/realtime/asked-response.ts";
import { type Closing, closingOf, passedOn } from "../../domain/realtime/close-codes.ts";
import { MessageRate } from "../../domain/realtime/message-rate.ts";
import { eventOf } from "../../domain/realtime/realtime-events.ts";
import { type JsonObject, jsonObjectOf, PARSE_WHOLE_MAX_BYTES } from "../../domain/wire/json/document.ts";
import { type TakeBytes, writtenInSteps } from "../../domain/wire/json/write-in-steps.ts";
import { utf8Bytes } from "../../domain/wire/text/utf8-bytes.ts";
import { collectAnswer } from "../call/boon/answer-stage.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import type { RequestMemory, ResponseShare } from "../call/memory/response-memory.ts";
import { StallWatch } from "../call/stall-watch.ts";
import { isEventStream } from "../reply/response-headers.ts";
import { fieldError } from "../resolve-model/field-error.ts";
import { eventData } from "./event-data.ts";
import { KeptResponses } from "./kept-responses.ts";
import { type Message, MessageQueue } from "./message-queue.ts";
import { parsedMessage } from "./parsed-message.ts";
import { dismiss, sendTo } from "./sockets.ts";
import { type ItemPieces, joinedItems, WrittenRequest } from "./written-request.ts";

/** Answers a request of `/v1/responses` with this body. Never throws. */
type Ask = (body: Uint8Array<ArrayBuffer>, signal: AbortSignal) => Promise<Response>;

/** The event after which a response has no other. */
const LAST = /^response\.(?:completed|incomplete|failed)$/;
/** What such an event, or one of an error, has in its text. */
const MAY_BE_LAST = /"(?:error|response\.(?:completed|incomplete|failed))"/;
/** A client that has unread bytes is looked at again after so long, because no event says that it reads. */
const LOOK_EVERY_MS = 250;

/** A request that is served. */
interface Served {
  readonly lane: string | null;
  readonly isStored: boolean;
  /** The items of its conversation so far. */
  readonly items: ItemPieces;
  /** Aborted when its client leaves. */
  readonly gone: AbortController;
  /** Called before an event of it is sent. */
  readonly sends?: () => void;
}

export class ResponsesSocket {
  readonly #call: Call;
  readonly #socket: WebSocket;
  readonly #ask: Ask;
  readonly #share: ResponseShare;
  readonly #kept: KeptResponses;
  readonly #silence: StallWatch;
  /** Requests that end with the connection: the last event of their response has not come. */
  readonly #unfinished = new Set<AbortController>();
  readonly #callOffs: (() => void)[];
  /** Ends the wait for the first message. */
  readonly #callOffWait: () => void;
  /** Ends the wait for the next check of the unread bytes. */
  #callOffLook: (() => void) | null = null;
  /** The last request of each lane. */
  readonly #lanes = new Map<string | null, Promise<void>>();
  #waiting = 0;
  /** Of events that have not come whole, or are read. */
  #comingBytes = 0;
  #hasEnded = false;

  /** `share`: it has this socket. */
  constructor(call: Call, socket: WebSocket, share: ResponseShare, ask: Ask) {
    this.#call = call;
    this.#socket = socket;
    this.#ask = ask;
    this.#share = share;
    this.#kept = new KeptResponses(share);
    const { timer, ports, config } = call;
    this.#silence = new StallWatch(timer, ports.clock, LIMITS.responsesSilence, () => this.#idle());
    this.#callOffWait = timer.after(LIMITS.responsesFirstMessage, () =>
      this.#fail(new GatewayError("realtime_session_idle")),
    );
    this.#callOffs = [
      () => this.#silence.end(),
      () => this.#kept.end(),
      () => this.#callOffLook?.(),
      this.#callOffWait,
      timer.after(config.realtimeMaxMs, () => this.#fail(new GatewayError("realtime_session_expired"))),
    ];
  }

  start(): void {
    const handling = {
      handle: async (message: Message, memory: RequestMemory) => await this.#received(message, memory),
      failed: (error: unknown) => this.#fail(error),
      reserve: (bytes: number) => this.#reserved(bytes),
    };
    const queue = new MessageQueue(new MessageRate(LIMITS.realtimeClientMessages), this.#call, handling);
    this.#callOffs.push(() => queue.clear());
    const socket = this.#socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) => {
      if (this.#hasEnded) return;
      this.#callOffWait();
      this.#silence.begin();
      queue.push(data as Message);
    });
    const brokenOff = (): void => {
      this.#end({ code: 1001, reason: "" });
      // its client reads and keeps nothing any more
      this.#share.remove(socket);
    };
    socket.addEventListener("close", ({ code, reason }) => {
      if (code === 1006) brokenOff();
      else this.#end(passedOn({ code, reason }));
    });
    socket.addEventListener("error", brokenOff);
    socket.accept();
    this.#silence.begin();
    const { interruption } = this.#call;
    // each request ends with the same reason, without this
    this.#callOffs.push(interruption.listen(() => this.#fail(interruption.failure, false)));
  }

  /** Memory for a message; null: the tenant has none, and the client gets an error. */
  #reserved(bytes: number): RequestMemory | null {
    const memory = this.#share.open(this.#socket);
    if (memory.cover(bytes)) return memory;
    memory.close();
    this.#tell(new GatewayError("realtime_backlog"));
    return null;
  }

  /** Closes the memory, or leaves that to the lane. */
  async #received(message: Message, memory: RequestMemory): Promise<void> {
    let [lane, isInLane]: [string | null, boolean] = [null, false];
    try {
      const event = eventOf(await parsedMessage(this.#call, message));
      const asked = event === null ? null : askedResponse(event);
      if (asked === null) throw new GatewayError("invalid_json");
      if ("param" in asked) throw fieldError(asked);
      lane = asked.lane;
      if (this.#waiting >= LIMITS.realtimeResponses) throw new GatewayError("realtime_backlog");
      let writtenBytes = 0;
      // small values can be much longer as JSON than they came
      const take = (bytes: number): void => {
        writtenBytes += bytes;
        if (!memory.cover(writtenBytes)) throw new GatewayError("realtime_backlog");
      };
      const request = await WrittenRequest.of(asked, async (value) => await this.#json(value, take));
      this.#enter(request, memory);
      isInLane = true;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.#tell(error, lane);
    } finally {
      if (!isInLane) memory.close();
    }
  }

  /** It is answered after the earlier requests of its lane. */
  #enter(request: WrittenRequest, memory: RequestMemory): void {
    const { lane } = request;
    this.#waiting += 1;
    const serve = async (): Promise<void> => {
      try {
        await this.#serve(request, memory);
      } finally {
        memory.close();
        this.#waiting -= 1;
        if (this.#lanes.get(lane) === served) this.#lanes.delete(lane);
      }
    };
    const before = this.#lanes.get(lane) ?? Promise.resolve();
    const served = before.then(serve, serve);
    this.#lanes.set(lane, served);
    this.#call.waitUntil(served);
  }

  async #serve(request: WrittenRequest, memory: RequestMemory): Promise<void> {
    if (this.#hasEnded) return;
    const { lane, isStored } = request;
    const gone = new AbortController();
    try {
      const { body, items } = this.#taken(request, memory);
      if (request.isWarmUp) return this.#warmUp(request, items);
      this.#unfinished.add(gone);
      await this.#relay({ lane, isStored, items, gone }, await this.#ask(body, gone.signal));
    } catch (error) {
      if (this.#hasEnded || error instanceof ClientGone) return;
      const isRefused = error instanceof GatewayError;
      const { ports, requestId } = this.#call;
      if (!isRefused || error.cause !== undefined)
        ports.log.event("websocket_response_failed", { request_id: requestId, reason: rootCause(error) });
      this.#tell(isRefused ? error : new GatewayError("internal_error"), lane);
    } finally {
      this.#unfinished.delete(gone);
    }
  }

  /** The request after the response that it continues. The kept response may be dropped for it: then the request alone has it. */
  #taken(request: WrittenRequest, memory: RequestMemory): ReturnType<WrittenRequest["take"]> {
    const { previous, byteLength } = request;
    const kept = previous === null ? null : this.#kept.items(previous);
    if (kept === null && previous !== null && !request.isStored)
      throw new GatewayError("previous_response_not_found", { value: previous });
    if (!memory.cover(byteLength + (kept?.byteLength ?? 0))) throw new GatewayError("realtime_backlog");
    return request.take(kept);
  }

  async #json(value: unknown, take: TakeBytes): Promise<Uint8Array<ArrayBuffer>> {
    return await inTurns(this.#call, writtenInSteps(value, take));
  }

  async #relay(served: Served, response: Response): Promise<void> {
    const { body, ok, headers } = response;
    if (body === null) throw unreadable("has no body");
    if (!ok || !isEventStream(headers.get("content-type"))) return await this.#relayWhole(served, response, body);
    let [hasEnd, heldBytes] = [false, 0];
    const hold = (bytes: number): void => {
      this.#comingBytes += bytes - heldBytes;
      heldBytes = bytes;
      this.#noteUnread();
      if (bytes > LIMITS.smallBody && this.#share.unreadBytes > LIMITS.tenantResponsesMemory)
        throw new GatewayError("realtime_backlog");
    };
    const streamed = { ...served, sends: () => hold(0) };
    try {
      for await (const data of eventData(body, hold))
        if (data !== "[DONE]") hasEnd = (await this.#pass(streamed, data)) || hasEnd;
    } finally {
      hold(0);
    }
    if (!hasEnd) this.#tell(new GatewayError("upstream_stream_error"), served.lane);
  }

  /** What is no stream of events becomes one event. */
  async #relayWhole(served: Served, { ok, status }: Response, body: NonNullable<Response["body"]>): Promise<void> {
    const frees: (() => void)[] = [];
    try {
      const collected = await collectAnswer(this.#call, body, { onEnd: (free) => void frees.push(free) });
      if (collected.kind === "too-large") {
        await collected.body.cancel().catch(() => undefined);
        if (collected.noMemory) throw new GatewayError("scheduler_unavailable", { cause: "no memory for the answer" });
        throw unreadable("is too large");
      }
      const text = new TextDecoder().decode(collected.bytes);
      const answer = jsonObjectOf(await parsedMessage(this.#call, text));
      if (answer === null) throw unreadable("is not a JSON object");
      const members = text.slice(text.indexOf("{") + 1);
      if (ok)
        await this.#pass(served, `{"type":"response.completed","response":${text}}`, {
          type: "response.completed",
          response: answer,
        });
      else this.#send(`{"type":"error","status":${status}${/^\s*\}/.test(members) ? "" : ","}${members}`, served.lane);
    } finally {
      for (const free of frees) free();
    }
  }

  /** Sends an event of a response, and keeps what only this connection knows of it. True: the client waits for no other event. */
  async #pass(
    { lane, isStored, items, gone, sends }: Served,
    data: string,
    read: JsonObject | null = null,
  ): Promise<boolean> {
    const event =
      read ??
      (data.length > PARSE_WHOLE_MAX_BYTES || MAY_BE_LAST.test(data)
        ? jsonObjectOf(await parsedMessage(this.#call, data))
        : null);
    const { type, response, error } = event ?? {};
    const isLast = typeof type === "string" && LAST.test(type);
    if (isLast) {
      this.#unfinished.delete(gone);
      const { id, output } = jsonObjectOf(response) ?? {};
      if (!this.#hasEnded && !isStored && typeof id === "string" && type !== "response.failed")
        await this.#keep(id, items, output);
    }
    sends?.();
    this.#send(data, lane);
    return isLast || type === "error" || jsonObjectOf(error) !== null;
  }

  async #keep(id: string, items: ItemPieces, output: unknown): Promise<void> {
    const tooLong = new Error("a response that is too long to be kept");
    let left = LIMITS.responsesKept;
    const take = (bytes: number): void => {
      left -= bytes;
      if (left < 0) throw tooLong;
    };
    try {
      const said = await this.#json(repeatedItems(output), take);
      this.#kept.keep(id, joinedItems(items, [said.subarray(1, -1)]));
    } catch (error) {
      if (error !== tooLong) throw error;
    }
  }

  /** The client will continue a response that produced nothing. */
  #warmUp({ lane, model }: WrittenRequest, items: ItemPieces): void {
    const id = `resp_${this.#call.ports.random.uuid().replaceAll("-", "")}`;
    this.#kept.keep(id, items);
    const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
    const response = { id, object: "response", model, output: [], error: null };
    const events: readonly JsonObject[] = [
      { type: "response.created", response: { ...response, status: "in_progress", usage: null } },
      { type: "response.completed", response: { ...response, status: "completed", usage } },
    ];
    for (const [sequence_number, event] of events.entries())
      this.#send(JSON.stringify({ ...event, sequence_number }), lane);
  }

  #tell({ body, status }: GatewayError, lane: string | null = null): void {
    this.#send(JSON.stringify({ type: "error", status, error: body.error }), lane);
  }

  /** An event with the name of its lane. Anything but an object with members is not passed on. */
  #send(data: string, lane: string | null): void {
    if (this.#hasEnded) return;
    this.#silence.begin();
    const members = /^\s*\{(?=\s*")/.exec(data)?.[0].length;
    if (this.#isTooMuch(utf8Bytes(data))) this.#fail(new GatewayError("realtime_backlog"));
    else if (members !== undefined) {
      sendTo(this.#socket, lane === null ? data : `{"stream_id":${JSON.stringify(lane)},${data.slice(members)}`);
      this.#unreadBytes();
    }
  }

  /** Whether so many more bytes are too much for the unread part of the client, or of its tenant. */
  #isTooMuch(bytes: number): boolean {
    const unread = this.#unreadBytes();
    const ofTenant = this.#share.unreadBytes;
    if (unread > LIMITS.realtimeBacklog) return true;
    // a client that reads gets its small events, whatever the others do, and the very first event may have any size
    if (ofTenant === 0 || (unread === 0 && bytes <= LIMITS.smallBody)) return false;
    return ofTenant + bytes > LIMITS.tenantResponsesMemory;
  }

  /** The client's unread bytes: noted for the other connections of its tenant until it has read all. */
  #unreadBytes(): number {
    const bufferedAmount = this.#noteUnread();
    if (bufferedAmount > 0)
      this.#callOffLook ??= this.#call.timer.after(LOOK_EVERY_MS, () => {
        this.#callOffLook = null;
        this.#unreadBytes();
      });
    return bufferedAmount;
  }

  #noteUnread(): number {
    const { bufferedAmount } = this.#socket;
    this.#share.noteUnread(this.#socket, bufferedAmount + this.#comingBytes);
    return bufferedAmount;
  }

  #idle(): void {
    if (this.#waiting > 0) this.#silence.begin();
    else this.#fail(new GatewayError("realtime_session_idle"));
  }

  /** `endsRequests`: what still runs has lost its client. */
  #fail(thrown: unknown, endsRequests = true): void {
    if (this.#hasEnded) return;
    const failure = thrown instanceof GatewayError ? thrown : new GatewayError("internal_error");
    const { body, status } = failure;
    sendTo(this.#socket, JSON.stringify({ type: "error", status, error: body.error }));
    this.#end(closingOf(failure), endsRequests);
  }

  #end(closing: Closing, endsRequests = true): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    // its unread bytes take memory until the connection is gone
    this.#unreadBytes();
    for (const callOff of this.#callOffs) callOff();
    dismiss(this.#socket, closing, this.#call, () => this.#share.remove(this.#socket));
    if (endsRequests) for (const gone of this.#unfinished) gone.abort();
  }
}

function unreadable(reason: string): GatewayError {
  return new GatewayError("upstream_failed", { cause: `the answer ${reason}` });
}
