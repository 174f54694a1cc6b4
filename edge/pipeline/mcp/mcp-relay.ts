/**
 * The answer of an MCP server on its way to the client, as it comes. A client that leaves does not end it: it is read
 * on, because a server may take a lost connection for a cancel (docs/rules/mcp.md#clients-that-leave). Two kinds of
 * answers are cancelled at once, because their client wants to come back and would find its stream in use: answers to a
 * client that only listened (GET), and event streams with ids, which their server can continue (`Last-Event-ID`). A gateway that
 * stops ends event streams in order, without an event: every event is a message of the server.
 */
import { EventIdScan, mcpResponseHeaders } from "../../domain/tools/mcp.ts";
import type { Call } from "../call/context.ts";
import type { Known } from "../call/known.ts";
import { anyReader } from "../relay/body-reader.ts";
import { ByteTurns } from "../relay/byte-turns.ts";
import { gatewayHeaders, isEventStream, STREAM_HEADERS } from "../reply/response-headers.ts";
import { isListening, type McpAnswer } from "./mcp-call.ts";

/** How long an answer without a client is read on: about as long as the platform allows. */
const READ_ON_MS = 30_000;

/** The response to the client; its body ends with the server's. */
export function relayMcp(call: Call, known: Known, answer: McpAnswer): Response {
  const { response } = answer;
  const events = isEventStream(response.headers.get("content-type"));
  const headers = {
    ...mcpResponseHeaders(response.headers),
    ...gatewayHeaders(call, known),
    ...(events ? STREAM_HEADERS : {}),
  };
  const { status } = response;
  if (response.body === null) return new Response(null, { status, headers });
  const { readable, writable } = new IdentityTransformStream();
  const ids = events ? new EventIdScan() : null;
  const endsAtOnce = (): boolean => isListening(call) || ids?.found === true;
  // Made first: a status that no response can have throws, and nothing may read for a client that gets another answer.
  const relayed = new Response(readable, { status, headers });
  call.waitUntil(
    pump(call, response.body, writable, answer.stop, new Leaving(call.request.signal, answer.stop, endsAtOnce), ids),
  );
  return relayed;
}

/** A client that may leave, and what happens to the answer then. */
class Leaving {
  readonly #client: AbortSignal;
  readonly #stop: AbortController;
  readonly #endsAtOnce: () => boolean;
  readonly #left = Promise.withResolvers<void>();
  readonly #onAbort = (): void => this.leave();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(client: AbortSignal, stop: AbortController, endsAtOnce: () => boolean) {
    this.#client = client;
    this.#stop = stop;
    this.#endsAtOnce = endsAtOnce;
    if (client.aborted) this.leave();
    else client.addEventListener("abort", this.#onAbort, { once: true });
  }

  get left(): boolean {
    return this.#timer !== null;
  }

  /** Called when the client does not read any more, as the platform or a failed write has shown. */
  leave(): void {
    if (this.left) return;
    this.#timer = setTimeout(() => this.#stop.abort(), this.#endsAtOnce() ? 0 : READ_ON_MS);
    this.#left.resolve();
  }

  /** Waits for a write, or until the client leaves. */
  async write(work: Promise<void>): Promise<void> {
    await Promise.race([work.catch(() => this.leave()), this.#left.promise]);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#client.removeEventListener("abort", this.#onAbort);
  }
}

/** Moves bytes until the server's end; never rejects. Nothing is read before the client has taken the earlier bytes. */
async function pump(
  call: Call,
  body: ReadableStream<Uint8Array>,
  writable: WritableStream<Uint8Array>,
  stop: AbortController,
  client: Leaving,
  ids: EventIdScan | null,
): Promise<void> {
  const reader = anyReader(body);
  const writer = writable.getWriter();
  writer.closed.catch(() => undefined);
  const { interruption } = call;
  const callOff = interruption.listen(() => stop.abort());
  const turns = new ByteTurns(call);
  try {
    for (let bytes = await reader.next(); bytes !== null; bytes = await reader.next()) {
      ids?.push(bytes);
      // The next read uses the same buffer.
      if (!client.left) await client.write(writer.write(bytes.slice()));
      await turns.after(bytes.byteLength);
    }
    await client.write(writer.close());
  } catch (error) {
    stop.abort();
    if (interruption.failure !== null && ids !== null) await client.write(writer.close());
    else await writer.abort(error).catch(() => undefined);
  } finally {
    callOff();
    turns.end();
    client.end();
  }
}
