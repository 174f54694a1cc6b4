/** A connection of a realtime session for tests of the pipeline. */
import { waitFor } from "../../wait-for.ts";

type SentEvent = Readonly<Record<string, unknown>>;

/** The gateway's end of a connection. */
export class HeldSocket extends EventTarget {
  readonly sent: string[] = [];
  closed: { readonly code: number; readonly reason: string } | null = null;
  bufferedAmount = 0;
  binaryType = "blob";

  get readyState(): number {
    return this.closed === null ? WebSocket.OPEN : WebSocket.CLOSED;
  }

  accept(): void {
    this.sent.length = 0;
  }

  send(message: string): void {
    this.sent.push(message);
  }

  close(code: number, reason: string): void {
    this.closed ??= { code, reason };
  }

  says(...messages: readonly unknown[]): void {
    for (const message of messages) {
      const isRaw = typeof message === "string" || message instanceof ArrayBuffer;
      this.dispatchEvent(new MessageEvent("message", { data: isRaw ? message : JSON.stringify(message) }));
    }
  }

  breaksOff(): void {
    this.dispatchEvent(new MessageEvent("error"));
  }

  /** The other end closes the connection. */
  ends(code = 1000): void {
    this.dispatchEvent(Object.assign(new Event("close"), { code, reason: "" }));
  }

  get events(): readonly SentEvent[] {
    return this.sent.map((text) => JSON.parse(text) as SentEvent);
  }

  get types(): readonly unknown[] {
    return this.events.map(({ type }) => type);
  }

  count(type: string): number {
    return this.types.filter((other) => other === type).length;
  }

  /** Resolves when it was sent so many events of this type. */
  async got(type: string, count = 1): Promise<void> {
    await waitFor(
      () => this.count(type),
      (seen) => seen >= count,
      5_000,
    );
  }

  async end(): Promise<string> {
    const closed = await waitFor(
      () => this.closed,
      (found) => found !== null,
      5_000,
    );
    return closed?.reason ?? "";
  }
}
