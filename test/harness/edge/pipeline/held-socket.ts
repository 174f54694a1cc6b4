/** A connection of a realtime session for tests of the pipeline. */

/** The gateway's end of a connection. */
export class HeldSocket extends EventTarget {
  readonly sent: string[] = [];
  closed: { readonly code: number; readonly reason: string } | null = null;
  bufferedAmount = 0;
  binaryType = "blob";

  accept(): void {
    this.sent.length = 0;
  }

  send(message: string): void {
    this.sent.push(message);
  }

  close(code: number, reason: string): void {
    this.closed ??= { code, reason };
  }

  /** The other end closes the connection. */
  ends(code: number): void {
    this.dispatchEvent(Object.assign(new Event("close"), { code, reason: "" }));
  }

  /** A message arrives. */
  says(data: unknown): void {
    const isMessage = typeof data === "string" || data instanceof ArrayBuffer;
    this.dispatchEvent(new MessageEvent("message", { data: isMessage ? data : JSON.stringify(data) }));
  }

  get types(): readonly unknown[] {
    return this.sent.map((text) => (JSON.parse(text) as { readonly type: unknown }).type);
  }
}
