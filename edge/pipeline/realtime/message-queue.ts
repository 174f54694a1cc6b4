/**
 * The messages of one side of a session, handled one after another, in turns with the other work of the isolate. What waits while
 * one is handled is bounded, and so is how fast messages come: the runtime takes messages from a connection whether or not anybody
 * has handled the last (docs/rules/realtime.md#back-pressure).
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { MessageRate } from "../../domain/realtime/message-rate.ts";
import { utf8Bytes } from "../../domain/wire/text/utf8-bytes.ts";
import type { Clock, Sleep } from "../../ports.ts";
import type { RequestMemory } from "../call/memory/response-memory.ts";

export type Message = string | ArrayBuffer;

/** The memory of a message in addition to its bytes. */
const OWN_BYTES = 256;
/** Other work runs after so many messages: the events of a connection alone would let nothing else run. */
const MESSAGES_OF_TURN = 8;

interface Handling {
  /** It closes the memory, whatever happens to the message. */
  readonly handle: (message: Message, memory: RequestMemory) => Promise<void>;
  /** Called with errors of `handle`, and with refusals of messages. */
  readonly failed: (error: unknown) => void;
  /** Reserves memory for a message from when it came; null: it is dropped. */
  readonly reserve?: (bytes: number) => RequestMemory | null;
}

/** A message that waits. */
interface Waiting {
  readonly message: Message;
  readonly bytes: number;
  readonly memory: RequestMemory;
}

/** The memory of a message that only the queue counts. */
const UNRESERVED: RequestMemory = { cover: () => true, close: () => undefined };

export class MessageQueue {
  readonly #handling: Handling;
  readonly #rate: MessageRate;
  readonly #clock: Clock;
  readonly #sleep: Sleep;
  #waiting: Waiting[] = [];
  /** Those that waited before them, in the reverse order, so that taking one moves no other. */
  #reversed: Waiting[] = [];
  #waitingBytes = 0;
  #handledOfTurn = 0;
  #isBusy = false;
  #atEnd: (() => void) | null = null;

  constructor(
    rate: MessageRate,
    { clock, sleep }: { readonly clock: Clock; readonly sleep: Sleep },
    handling: Handling,
  ) {
    this.#rate = rate;
    this.#clock = clock;
    this.#sleep = sleep;
    this.#handling = handling;
  }

  push(message: Message): void {
    const { failed, reserve = () => UNRESERVED } = this.#handling;
    const ownBytes = typeof message === "string" ? utf8Bytes(message) : message.byteLength;
    if (ownBytes > LIMITS.realtimeMessage) failed(new GatewayError("request_too_large"));
    else if (this.#waitingBytes > LIMITS.realtimeBacklog || !this.#rate.allows(this.#clock()))
      failed(new GatewayError("realtime_backlog"));
    else {
      const bytes = ownBytes + OWN_BYTES;
      const memory = reserve(bytes);
      if (memory === null) return;
      this.#waitingBytes += bytes;
      this.#waiting.push({ message, bytes, memory });
      if (!this.#isBusy) void this.#work();
    }
  }

  /** No message follows: `then` runs when what waits is handled. */
  end(then: () => void): void {
    if (this.#isBusy) this.#atEnd = then;
    else then();
  }

  /** Drops what waits. */
  clear(): void {
    for (const { memory } of [...this.#waiting, ...this.#reversed]) memory.close();
    this.#waiting = [];
    this.#reversed = [];
    this.#atEnd = null;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    try {
      for (let next = this.#taken(); next !== undefined; next = this.#taken()) {
        const { message, bytes, memory } = next;
        await this.#handling.handle(message, memory);
        this.#waitingBytes -= bytes;
        this.#handledOfTurn += 1;
        if (this.#handledOfTurn < MESSAGES_OF_TURN) continue;
        await this.#sleep(0, new AbortController().signal);
        this.#handledOfTurn = 0;
      }
    } catch (error) {
      this.#handling.failed(error);
    } finally {
      this.#isBusy = false;
    }
    this.#atEnd?.();
  }

  #taken(): Waiting | undefined {
    if (this.#reversed.length === 0) [this.#reversed, this.#waiting] = [this.#waiting.reverse(), []];
    return this.#reversed.pop();
  }
}
