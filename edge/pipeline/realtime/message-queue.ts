/**
 * The messages of one side of a session, handled one after another. What waits while one is handled is bounded: the runtime
 * takes messages from a connection whether or not anybody has handled the last (docs/rules/realtime.md#back-pressure).
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";

export type Message = string | ArrayBuffer;

export class MessageQueue {
  readonly #handle: (message: Message) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #waiting: Message[] = [];
  #waitingBytes = 0;
  #isBusy = false;

  /** `failed` is called with what `handle` throws, and with what a message is refused with. */
  constructor(handle: (message: Message) => Promise<void>, failed: (error: unknown) => void) {
    this.#handle = handle;
    this.#failed = failed;
  }

  push(message: Message): void {
    const bytes = sizeOf(message);
    if (bytes > LIMITS.realtimeMessage) this.#failed(new GatewayError("request_too_large"));
    else if (this.#waitingBytes > LIMITS.realtimeBacklog) this.#failed(new GatewayError("realtime_backlog"));
    else {
      this.#waitingBytes += bytes;
      this.#waiting.push(message);
      if (!this.#isBusy) void this.#work();
    }
  }

  /** Drops what waits. */
  clear(): void {
    this.#waiting.length = 0;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        await this.#handle(next);
        this.#waitingBytes -= sizeOf(next);
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isBusy = false;
    }
  }
}

/** Characters of a text, which is never shorter than a quarter of its bytes. */
function sizeOf(message: Message): number {
  return typeof message === "string" ? message.length : message.byteLength;
}
