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
import { type JsonObject, jsonObjectOf } from "../../domain/wire/json/document.ts";
import type { Call } from "../call/context.ts";
import type { MemoryReservation } from "../call/memory/memory-budget.ts";
import { StallWatch } from "../call/stall-watch.ts";
import { isEventStream } from "../reply/response-headers.ts";
import { fieldError } from "../resolve-model/field-error.ts";
import { eventData } from "./event-data.ts";
import { KeptResponses } from "./kept-responses.ts";
import { type Message, MessageQueue } from "./message-queue.ts";
import { parsedMessage } from "./parsed-message.ts";
import { dismiss, sendTo } from "./sockets.ts";

/** Answers a request of `/v1/responses` with this body. Never throws. */
type Ask = (body: string, signal: AbortSignal) => Promise<Response>;

/** The event after which a response has no other. */
const LAST = /^response\.(?:completed|incomplete|failed)$/;
/** What such an event has in its text. */
const MAY_BE_LAST = /"response\.(?:completed|incomplete|failed)"/;

/** A request that is served. */
interface Served {
  readonly asked: AskedResponse;
  /** The items of its conversation so far, as JSON. */
  readonly items: readonly string[];
  /** Aborted when its client leaves. */
  readonly gone: AbortController;
}

export class ResponsesSocket {
  readonly #call: Call;
  readonly #socket: WebSocket;
  readonly #ask: Ask;
  readonly #kept: KeptResponses;
  readonly #silence: StallWatch;
  /** Requests that end with the connection: the last event of their response has not come. */
  readonly #unfinished = new Set<AbortController>();
  readonly #callOffs: (() => void)[];
  /** The last request of each lane. */
  readonly #lanes = new Map<string | null, Promise<void>>();
  #waiting = 0;
  #hasEnded = false;

  constructor(call: Call, socket: WebSocket, ask: Ask) {
    this.#call = call;
    this.#socket = socket;
    this.#ask = ask;
    this.#kept = new KeptResponses(call.memory.responseMemory);
    const { timer, ports, interruption, config } = call;
    this.#silence = new StallWatch(timer, ports.clock, LIMITS.responsesSilence, () => this.#idle());
    this.#callOffs = [
      () => this.#silence.end(),
      timer.after(config.realtimeMaxMs, () => this.#fail(new GatewayError("realtime_session_expired"))),
      // each request ends by itself with the same reason
      interruption.listen(() => this.#fail(interruption.failure, false)),
    ];
  }

  start(): void {
    const handling = {
      handle: async (message: Message) => await this.#received(message),
      failed: (error: unknown) => this.#fail(error),
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

  async #received(message: Message): Promise<void> {
    const event = eventOf(await parsedMessage(this.#call, message));
    const asked = event === null ? null : askedResponse(event);
    if (asked === null) this.#tell(new GatewayError("invalid_json"));
    else if ("param" in asked) this.#tell(fieldError(asked));
    else {
      const memory = this.#call.memory.responseMemory.open();
      const bytes = typeof message === "string" ? message.length : message.byteLength;
      if (this.#waiting < LIMITS.realtimeResponses && memory.grow(bytes)) this.#enter(asked, memory);
      else this.#tell(new GatewayError("realtime_backlog"), asked.lane);
    }
  }

  /** It is answered after what was asked for before it in its lane. */
  #enter(asked: AskedResponse, memory: MemoryReservation): void {
    const { lane } = asked;
    this.#waiting += 1;
    const before = this.#lanes.get(lane) ?? Promise.resolve();
    const served = before.then(async () => {
      await this.#serve(asked);
      memory.close();
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
    const items = [...(kept ?? []), ...asked.input.map((item) => JSON.stringify(item))];
    try {
      if (kept === null && typeof previous === "string" && others["store"] === false)
        return this.#tell(new GatewayError("previous_response_not_found", { value: previous }), asked.lane);
      if (asked.isWarmUp) return this.#warmUp(asked, items);
      const continued = `${JSON.stringify(others).slice(0, -1)},"input":[${items.join(",")}]}`;
      const body = kept === null ? JSON.stringify(asked.body) : continued;
      const served = { asked, items, gone: new AbortController() };
      this.#unfinished.add(served.gone);
      await this.#relay(served, await this.#ask(body, served.gone.signal));
      this.#unfinished.delete(served.gone);
    } catch (error) {
      const { ports, requestId } = this.#call;
      ports.log.event("websocket_response_failed", { request_id: requestId, reason: rootCause(error) });
      this.#tell(new GatewayError("internal_error"), asked.lane);
    }
  }

  async #relay(served: Served, response: Response): Promise<void> {
    const { body, ok, status, headers } = response;
    if (!ok || body === null || !isEventStream(headers.get("content-type"))) {
      const answer = jsonObjectOf(await response.json());
      const event = ok ? { type: "response.completed", response: answer } : { type: "error", status, ...answer };
      return await this.#pass(served, JSON.stringify(event));
    }
    for await (const data of eventData(body)) if (data !== "[DONE]") await this.#pass(served, data);
  }

  /** Sends an event of a response, and keeps what only this connection knows of it. */
  async #pass({ asked, items, gone }: Served, data: string): Promise<void> {
    const event = MAY_BE_LAST.test(data) ? jsonObjectOf(await parsedMessage(this.#call, data)) : null;
    const { type, response } = event ?? {};
    if (typeof type === "string" && LAST.test(type)) {
      this.#unfinished.delete(gone);
      const { id, output } = jsonObjectOf(response) ?? {};
      if (asked.body["store"] === false && typeof id === "string" && type !== "response.failed")
        this.#kept.keep(id, [...items, ...repeatedItems(output).map((item) => JSON.stringify(item))]);
    }
    this.#send(data, asked.lane);
  }

  /** The client will continue a response of which nothing was made. */
  #warmUp({ lane, body }: AskedResponse, items: readonly string[]): void {
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

  /** An event, which is the text of an object, with the name of its lane. */
  #send(data: string, lane: string | null): void {
    if (this.#hasEnded) return;
    this.#silence.begin();
    if (this.#socket.bufferedAmount > LIMITS.realtimeBacklog) this.#fail(new GatewayError("realtime_backlog"));
    else sendTo(this.#socket, lane === null ? data : `{"stream_id":${JSON.stringify(lane)},${data.slice(1)}`);
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
    this.#kept.clear();
    dismiss(this.#socket, closing, this.#call);
    if (endsRequests) for (const gone of this.#unfinished) gone.abort();
  }
}
