/**
 * Server-sent events as bytes (WHATWG HTML, "Server-sent events"): cuts a stream into whole events without changing a
 * byte, and recognises the usage event that the gateway asked for on the client's behalf (decisions §22.5). Bytes may be
 * split anywhere. An event that never ends is let through, so that memory stays bounded.
 */

const LF = 0x0a;
const CR = 0x0d;
/** Above this an unfinished event is passed on as it comes. */
const EVENT_MAX_BYTES = 1024 * 1024;

export class SseSplitter {
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** The line that this byte belongs to is empty so far. */
  #lineEmpty = true;
  #afterCr = false;

  /** The events that this chunk completes, each with its blank line; raw bytes, in order. */
  push(chunk: Uint8Array): readonly Uint8Array[] {
    const events: Uint8Array[] = [];
    let start = 0;
    for (let at = 0; at < chunk.byteLength; at += 1) {
      const byte = chunk[at];
      if (byte === LF && this.#afterCr) {
        // Second half of a CR LF that was split from the first: it stays with the bytes that follow.
        this.#afterCr = false;
        continue;
      }
      this.#afterCr = byte === CR;
      if (byte !== LF && byte !== CR) {
        this.#lineEmpty = false;
        continue;
      }
      if (!this.#lineEmpty) {
        this.#lineEmpty = true;
        continue;
      }
      // A CR that ends an event may be the first half of CR LF: take the LF along when it is here.
      const end = byte === CR && chunk[at + 1] === LF ? at + 2 : at + 1;
      if (end === at + 2) {
        at += 1;
        this.#afterCr = false;
      }
      events.push(this.#take(chunk.subarray(start, end)));
      start = end;
    }
    this.#hold(chunk.subarray(start));
    return this.#heldBytes > EVENT_MAX_BYTES ? [...events, this.#take(new Uint8Array(0))] : events;
  }

  /** What is left when the stream ends: an event without its blank line, or nothing. */
  finish(): Uint8Array {
    return this.#take(new Uint8Array(0));
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    this.#held.push(bytes.slice());
    this.#heldBytes += bytes.byteLength;
  }

  #take(last: Uint8Array): Uint8Array {
    if (this.#heldBytes === 0) return last;
    const out = new Uint8Array(this.#heldBytes + last.byteLength);
    let at = 0;
    for (const piece of [...this.#held, last]) {
      out.set(piece, at);
      at += piece.byteLength;
    }
    this.#held = [];
    this.#heldBytes = 0;
    return out;
  }
}

/** True for the event that only reports usage: a JSON object with empty `choices` and a `usage` object. */
export function isUsageEvent(event: Uint8Array): boolean {
  const text = new TextDecoder().decode(event);
  if (!text.includes('"usage"')) return false;
  const data = text
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(line[5] === " " ? 6 : 5))
    .join("\n");
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value !== "object" || value === null) return false;
    const { choices, usage } = value as { choices?: unknown; usage?: unknown };
    return Array.isArray(choices) && choices.length === 0 && typeof usage === "object" && usage !== null;
  } catch {
    return false;
  }
}

/** The in-band end of a stream that broke (decisions §22.6); `before` ends what may be unfinished. */
export function errorEvent(body: object, before = ""): Uint8Array {
  return new TextEncoder().encode(`${before}data: ${JSON.stringify(body)}\n\n`);
}
