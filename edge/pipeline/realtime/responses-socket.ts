/**
 * The WebSocket mode of Responses (docs/rules/realtime.md#responses-over-a-websocket): each `response.create` is a request of
 * `/v1/responses` of its own, whose events are sent as messages. The connection holds no slot. What is asked for in one lane is
 * answered in its order.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import { type AskedResponse, askedResponse, repeatedItems } from "../../domain/realtime/asked-response.ts";
import { type Closing, closingOf, passedOn } from "../../domain/realtime/close-codes.ts";
import { MessageRate } from "../../domain/realtime/message-rate.ts";
import { eventOf } from "../../domain/realtime/realtime-events.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";
import { type JsonObject, jsonObjectOf } from "../../domain/wire/json/document.ts";
import { writtenInSteps } from "../../domain/wire/json/write-in-steps.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import type { ResponseShare } from "../call/memory/response-memory.ts";
import { StallWatch } from "../call/stall-watch.ts";
import { isEventStream } from "../reply/response-headers.ts";
import { fieldError } from "../resolve-model/field-error.ts";
import { eventData } from "./event-data.ts";
import { KeptResponses } from "./kept-responses.ts";
import { type Message, MessageQueue } from "./message-queue.ts";
import { parsedMessage } from "./parsed-message.ts";
import { dismiss, sendTo } from "./sockets.ts";

/** Answers a request of `/v1/responses` with this body. Never throws. */
type Ask = (body: Uint8Array<ArrayBuffer>, signal: AbortSignal) => Promise<Response>;

/** The event after which a response has no other. */
const LAST = /^response\.(?:completed|incomplete|failed)$/;
/** What such an event, or one of an error, has in its text. */
const MAY_BE_LAST = /"(?:error|response\.(?:completed|incomplete|failed))"/;
/** Longest JSON that is written of a message, in bytes. */
const WRITTEN_MAX = 2 * LIMITS.realtimeMessage;

const encoder = new TextEncoder();
const NOTHING = new Uint8Array();
const COMMA = encoder.encode(",");
const INPUT = encoder.encode(',"input":[');
const END = encoder.encode("]}");

/** The items of both, without the brackets of a list. */
function joined(before: Uint8Array | null, after: Uint8Array): Uint8Array {
  if (before === null || before.byteLength === 0) return after;
  return after.byteLength === 0 ? before : concat([before, COMMA, after]);
}

/** A request that is served. */
interface Served {
  readonly asked: AskedResponse;
  /** The items of its conversation so far, as JSON without the brackets of a list. */
  readonly items: Uint8Array;
  /** Aborted when its client leaves. */
  readonly gone: AbortController;
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
  /** The last request of each lane. */
  readonly #lanes = new Map<string | null, Promise<void>>();
  #waiting = 0;
  #hasEnded = false;

  /** `share`: it has this socket. */
  constructor(call: Call, socket: WebSocket, share: ResponseShare, ask: Ask) {
    this.#call = call;
    this.#socket = socket;
    this.#ask = ask;
    this.#share = share;
    this.#kept = new KeptResponses(share);
    const { timer, ports, interruption, config } = call;
    this.#silence = new StallWatch(timer, ports.clock, LIMITS.responsesSilence, () => this.#idle());
    this.#callOffs = [
      () => this.#silence.end(),
      () => this.#kept.end(),
      () => share.remove(socket),
      timer.after(config.realtimeMaxMs, () => this.#fail(new GatewayError("realtime_session_expired"))),
      // each request ends with the same reason, without this
      interruption.listen(() => this.#fail(interruption.failure, false)),
    ];
  }

  start(): void {
    const handling = {
      handle: async (message: Message, free: () => void) => await this.#received(message, free),
      failed: (error: unknown) => this.#fail(error),
      reserve: (bytes: number) => this.#reserved(bytes),
    };
    const queue = new MessageQueue(new MessageRate(LIMITS.realtimeClientMessages), this.#call.ports, handling);
    this.#callOffs.push(() => queue.clear());
    const socket = this.#socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) => {
      if (this.#hasEnded) return;
      this.#silence.begin();
      queue.push(data as Message);
    });
    socket.addEventListener("close", ({ code, reason }) => this.#end(passedOn({ code, reason })));
    socket.addEventListener("error", () => this.#end({ code: 1001, reason: "" }));
    socket.accept();
    this.#silence.begin();
  }

  /** Memory for a message; null: the tenant has none, which its client is told. */
  #reserved(bytes: number): (() => void) | null {
    const free = this.#share.reserve(bytes);
    if (free === null) this.#tell(new GatewayError("realtime_backlog"));
    return free;
  }

  async #received(message: Message, free: () => void): Promise<void> {
    const asked = await this.#askedBy(message, free);
    if (asked instanceof GatewayError) this.#tell(asked);
    else if (this.#waiting >= LIMITS.realtimeResponses) this.#tell(new GatewayError("realtime_backlog"), asked.lane);
    else return this.#enter(asked, free);
    free();
  }

  async #askedBy(message: Message, free: () => void): Promise<AskedResponse | GatewayError> {
    try {
      const event = eventOf(await parsedMessage(this.#call, message));
      const asked = event === null ? null : askedResponse(event);
      if (asked === null) return new GatewayError("invalid_json");
      return "param" in asked ? fieldError(asked) : asked;
    } catch (error) {
      free();
      throw error;
    }
  }

  /** It is answered after what was asked for before it in its lane. */
  #enter(asked: AskedResponse, free: () => void): void {
    const { lane } = asked;
    this.#waiting += 1;
    const before = this.#lanes.get(lane) ?? Promise.resolve();
    const served = before.then(async () => {
      await this.#serve(asked);
      free();
      this.#waiting -= 1;
      if (this.#lanes.get(lane) === served) this.#lanes.delete(lane);
    });
    this.#lanes.set(lane, served);
    this.#call.waitUntil(served);
  }

  /** Never rejects. */
  async #serve(asked: AskedResponse): Promise<void> {
    if (this.#hasEnded) return;
    const { previous_response_id: previous, input: _input, ...others } = asked.body;
    const kept = typeof previous === "string" ? this.#kept.items(previous) : null;
    const isKept = asked.isWarmUp || asked.body["store"] === false;
    try {
      if (kept === null && typeof previous === "string" && others["store"] === false)
        return this.#tell(new GatewayError("previous_response_not_found", { value: previous }), asked.lane);
      const items = isKept || kept !== null ? joined(kept, await this.#written(asked.input)) : NOTHING;
      if (asked.isWarmUp) return this.#warmUp(asked, items);
      const head = await this.#json(kept === null ? asked.body : others);
      const body = kept === null ? head : concat([head.subarray(0, -1), INPUT, items, END]);
      if (this.#hasEnded) return;
      const served = { asked, items, gone: new AbortController() };
      this.#unfinished.add(served.gone);
      await this.#relay(served, await this.#ask(body, served.gone.signal));
      this.#unfinished.delete(served.gone);
    } catch (error) {
      if (this.#hasEnded || error instanceof ClientGone) return;
      const { ports, requestId } = this.#call;
      ports.log.event("websocket_response_failed", { request_id: requestId, reason: rootCause(error) });
      this.#tell(error instanceof GatewayError ? error : new GatewayError("internal_error"), asked.lane);
    }
  }

  /** Small values can be much longer as JSON than they came. */
  async #json(value: unknown): Promise<Uint8Array<ArrayBuffer>> {
    let left = WRITTEN_MAX;
    const take = (bytes: number): void => {
      left -= bytes;
      if (left < 0) throw new GatewayError("request_too_large");
    };
    return await inTurns(this.#call, writtenInSteps(value, take));
  }

  /** The items of a list, without its brackets. */
  async #written(items: readonly unknown[]): Promise<Uint8Array> {
    return (await this.#json(items)).subarray(1, -1);
  }

  async #relay(served: Served, response: Response): Promise<void> {
    const { body, ok, status, headers } = response;
    if (!ok || body === null || !isEventStream(headers.get("content-type"))) {
      const answer = jsonObjectOf(await response.json());
      const event = ok ? { type: "response.completed", response: answer } : { type: "error", status, ...answer };
      await this.#pass(served, JSON.stringify(event));
      return;
    }
    let hasEnd = false;
    for await (const data of eventData(body))
      if (data !== "[DONE]") hasEnd = (await this.#pass(served, data)) || hasEnd;
    if (!hasEnd) this.#tell(new GatewayError("upstream_stream_error"), served.asked.lane);
  }

  /** Sends an event of a response, and keeps what only this connection knows of it. True: the client waits for no other event. */
  async #pass({ asked, items, gone }: Served, data: string): Promise<boolean> {
    const event = MAY_BE_LAST.test(data) ? jsonObjectOf(await parsedMessage(this.#call, data)) : null;
    const { type, response, error } = event ?? {};
    const isLast = typeof type === "string" && LAST.test(type);
    if (isLast) {
      this.#unfinished.delete(gone);
      const { id, output } = jsonObjectOf(response) ?? {};
      if (!this.#hasEnded && asked.body["store"] === false && typeof id === "string" && type !== "response.failed")
        this.#kept.keep(id, joined(items, await this.#written(repeatedItems(output))));
    }
    this.#send(data, asked.lane);
    return isLast || type === "error" || jsonObjectOf(error) !== null;
  }

  /** The client will continue a response of which nothing was made. */
  #warmUp({ lane, body }: AskedResponse, items: Uint8Array): void {
    const id = `resp_${this.#call.ports.random.uuid().replaceAll("-", "")}`;
    this.#kept.keep(id, items);
    const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
    const response = { id, object: "response", model: body["model"] ?? null, output: [], error: null };
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

  /** An event with the name of its lane. What is not an object with members is not passed on. */
  #send(data: string, lane: string | null): void {
    if (this.#hasEnded) return;
    this.#silence.begin();
    const { bufferedAmount: unread } = this.#socket;
    const isTooMuch =
      unread > LIMITS.realtimeBacklog || (unread > 0 && this.#share.unreadBytes > LIMITS.tenantResponsesMemory);
    const members = /^\s*\{(?=\s*")/.exec(data)?.[0].length;
    if (isTooMuch) this.#fail(new GatewayError("realtime_backlog"));
    else if (members !== undefined)
      sendTo(this.#socket, lane === null ? data : `{"stream_id":${JSON.stringify(lane)},${data.slice(members)}`);
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
    for (const callOff of this.#callOffs) callOff();
    dismiss(this.#socket, closing, this.#call);
    if (endsRequests) for (const gone of this.#unfinished) gone.abort();
  }
}
