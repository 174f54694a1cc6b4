/** The events of a session, kept for clients that resume a stream (`Last-Event-ID`). */
import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

export class KeptEvents implements EventStore {
  readonly #events: { readonly id: string; readonly stream: string; readonly message: JSONRPCMessage }[] = [];

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = `${stream}/${this.#events.length}`;
    this.#events.push({ id, stream, message });
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.find((event) => event.id === id)?.stream;
  }

  async replayEventsAfter(
    lastId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const at = this.#events.findIndex((event) => event.id === lastId);
    const stream = this.#events[at]?.stream ?? "";
    // A priming event has an id and no content.
    const missed = this.#events.slice(at + 1).filter((event) => event.stream === stream && "jsonrpc" in event.message);
    for (const { id, message } of missed) await send(id, message);
    return stream;
  }
}
