/** A client of a WebSocket of the gateway, `/v1/realtime` or `/v1/responses`, that keeps every event it gets. */
import { text } from "node:stream/consumers";
import { type ClientOptions, WebSocket } from "ws";
import type { Minted } from "./gateway.ts";
import { waitFor } from "./wait-for.ts";

type Event = Readonly<Record<string, unknown>>;

interface Closed {
  readonly code: number;
  readonly reason: string;
}

export class RealtimeClient {
  readonly socket: WebSocket;
  readonly events: Event[] = [];
  readonly binary: Buffer[] = [];
  headers: Readonly<Record<string, string | string[] | undefined>> = {};
  closed: Closed | null = null;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("upgrade", ({ headers }) => (this.headers = headers));
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) this.binary.push(data);
      else this.events.push(JSON.parse(data.toString()) as Event);
    });
    socket.on("close", (code, reason) => (this.closed = { code, reason: reason.toString() }));
    socket.on("error", () => undefined);
  }

  get requestId(): string {
    return String(this.headers["x-gateway-request-id"]);
  }

  send(event: Event): void {
    this.socket.send(JSON.stringify(event));
  }

  of(type: string): readonly Event[] {
    return this.events.filter((event) => event["type"] === type);
  }

  async got(type: string, nth = 1): Promise<Event> {
    await waitFor(
      () => ({ seen: this.of(type).length, events: this.events.slice(-3), closed: this.closed }),
      ({ seen }) => seen >= nth,
    );
    return this.of(type)[nth - 1] ?? {};
  }

  async end(): Promise<Closed> {
    return await waitFor(() => this.closed);
  }
}

interface Opening {
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocols?: readonly string[];
  readonly query?: string;
  /** `/v1/realtime` unless it says otherwise. */
  readonly path?: string;
  readonly over?: ClientOptions;
}

function realtimeSocket(proxyUrl: string, minted: Minted, opening: Opening = {}): WebSocket {
  const {
    headers = { authorization: `Bearer ${minted.secret}` },
    protocols = [],
    path = "/v1/realtime",
    over,
  } = opening;
  const { query = path === "/v1/realtime" ? `?model=${minted.model.model_name}` : "" } = opening;
  const url = `${proxyUrl.replace("http", "ws")}${path}${query}`;
  return new WebSocket(url, [...protocols], { headers, perMessageDeflate: false, ...over });
}

/** An open session. Rejects with what refuses it. */
export async function openRealtime(proxyUrl: string, minted: Minted, opening: Opening = {}): Promise<RealtimeClient> {
  const { promise, resolve, reject } = Promise.withResolvers<RealtimeClient>();
  const socket = realtimeSocket(proxyUrl, minted, opening);
  const client = new RealtimeClient(socket);
  socket.once("open", () => resolve(client));
  socket.once("unexpected-response", (_, response) => {
    void text(response).then((body) => reject(new RefusedUpgrade(response.statusCode ?? 0, body)));
  });
  socket.once("error", reject);
  return await promise;
}

/** An upgrade that got an ordinary answer. */
export class RefusedUpgrade extends Error {
  override readonly name = "RefusedUpgrade";
  readonly status: number;
  readonly code: unknown;

  constructor(status: number, body: string) {
    super(`${status} ${body}`);
    this.status = status;
    this.code = body.startsWith("{") ? (JSON.parse(body) as { error: { code: unknown } }).error.code : body;
  }
}

/** The event that adds a text of the user to the conversation. */
export const itemOf = (text: string) => ({
  type: "conversation.item.create",
  item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
});
