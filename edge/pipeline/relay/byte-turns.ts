/** The turns of a body that may always have more: without them it would leave no time to others (docs/rules/request-bodies.md#work). */
import type { Ports } from "../../ports.ts";
import type { Turns } from "../call/memory/turns.ts";

/** So many bytes are a unit of work where each byte is read by scans: one body alone has turns of 256 KiB, about 2 ms. */
const BYTES_PER_UNIT = 8;

/** What these turns need of a call. */
interface Mover {
  readonly memory: { readonly turns: Turns };
  readonly ports: Pick<Ports, "clock" | "sleep">;
  readonly request: object;
}

export class ByteTurns {
  readonly #call: Mover;
  #room: number;

  constructor(call: Mover) {
    this.#call = call;
    this.#room = this.#turnBytes();
  }

  /** Notes moved bytes. Undefined: the turn has not ended. */
  after(bytes: number): Promise<void> | undefined {
    this.#room -= bytes;
    return this.#room > 0 ? undefined : this.#next();
  }

  /** No more bytes are moved. */
  end(): void {
    this.#call.memory.turns.end(this);
  }

  async #next(): Promise<void> {
    const { memory, ports, request } = this.#call;
    // nothing of a body stays in memory, so that it is never a long work
    memory.turns.had(this, request, 0, ports.clock());
    await ports.sleep(0, new AbortController().signal);
    this.#room = this.#turnBytes();
  }

  #turnBytes(): number {
    return BYTES_PER_UNIT * this.#call.memory.turns.unitsOf(this);
  }
}
