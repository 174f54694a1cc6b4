/**
 * The messages of one side of a session, handled one after another, in turns with the other work of the isolate. What waits while
 * one is handled is bounded, and so is how fast messages come: the runtime takes messages from a connection whether or not anybody
 * has handled the last (docs/rules/realtime.md#back-pressure).
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { MessageRate } from "../../domain/realtime/message-rate.ts";
import type { Clock, Sleep } from "../../ports.ts";

export type Message = string | ArrayBuffer;

/** What a message takes in memory besides its text. */
const OWN_BYTES = 256;
/** Other work has its turn after so many messages: the events of a connection alone let nothing else run. */
const MESSAGES_OF_TURN = 8;

interface Handling {
  /** `free` gives back what was reserved for the message. */
  readonly handle: (message: Message, free: () => void) => Promise<void>;
  /** Called with what `handle` throws, and with what a message is refused with. */
  readonly failed: (error: unknown) => void;
  /** Reserves memory for a message from when it came; null: it is dropped. */
  readonly reserve?: (bytes: number) => (() => void) | null;
}

/** A message that waits. */
interface Waiting {
  readonly message: Message;
  readonly free: () => void;
}

const nothingToFree = (): void => undefined;

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
    const { failed, reserve = () => nothingToFree } = this.#handling;
    const bytes = sizeOf(message) + OWN_BYTES;
    if (sizeOf(message) > LIMITS.realtimeMessage) failed(new GatewayError("request_too_large"));
    else if (this.#waitingBytes > LIMITS.realtimeBacklog || !this.#rate.allows(this.#clock()))
      failed(new GatewayError("realtime_backlog"));
    else {
      const free = reserve(bytes);
      if (free === null) return;
      this.#waitingBytes += bytes;
      this.#waiting.push({ message, free });
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
    for (const { free } of [...this.#waiting, ...this.#reversed]) free();
    this.#waiting = [];
    this.#reversed = [];
    this.#atEnd = null;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    try {
      for (let next = this.#taken(); next !== undefined; next = this.#taken()) {
        const { message, free } = next;
        await this.#handling.handle(message, free);
        this.#waitingBytes -= sizeOf(message) + OWN_BYTES;
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

/** Characters of a text, which is never shorter than a quarter of its bytes. */
function sizeOf(message: Message): number {
  return typeof message === "string" ? message.length : message.byteLength;
}
