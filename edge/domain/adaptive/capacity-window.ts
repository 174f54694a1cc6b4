/**
 * The measurements of one window about the upstream of a model (docs/rules/adaptive-capacity.md#signals). A window has only
 * requests that started after the last change of the capacity, so that it measures one capacity.
 */

/** A request that held a slot of the model and has ended. */
export interface EndedCall {
  /** Time at the upstream, without queue and gateway. */
  readonly upstreamMs: number;
  /** Until the first byte of the answer. */
  readonly ttftMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly outcome: "served" | "refused" | "other";
  /** Requests of the model that held a slot when it ended, itself included. */
  readonly inFlight: number;
  readonly tenantId: string;
  /** Requests of other tenants held a slot of the model when it ended. */
  readonly isAmongOthers: boolean;
}

/** The measured values of a window. Load and delay are logarithms, because only their ratios matter. */
export interface Level {
  readonly load: number;
  /** Time per unit of work; a unit is an output token. */
  readonly delay: number;
  /** Standard error of `delay`. */
  readonly error: number;
  /**
   * Time to the first token per input token, a logarithm with its standard error, and its part of the time of all calls; null
   * if too few were streamed.
   */
  readonly firstToken: { readonly mean: number; readonly error: number; readonly part: number } | null;
  readonly endedMs: number;
}

/** An input token costs an upstream about this part of an output token. */
const INPUT_WORK = 0.05;
/** The part of a first token's time that does not depend on the input counts as so many input tokens. */
const INPUT_BASE_TOKENS = 200;
/** Times are whole ms: less than this is not measured. */
const LEAST_MS = 0.5;
/** No mean of delays is taken to be more exact. */
const LEAST_ERROR = 0.01;
/** A call whose first byte comes later than this part of its time was not streamed. */
const STREAMED_PART = 0.9;
/** Fewer such calls are not streamed either: the end of their answer was late. */
const STREAMED_LEAST = 4;

/** Fewer refusals than this part of the requests are those of single requests. */
const REFUSED_PART = 0.05;

/** A mean of ratios, weighted by their denominators, with its standard error. */
class RatioMean {
  count = 0;
  above = 0;
  #below = 0;
  #aboveSquares = 0;
  #belowSquares = 0;
  #products = 0;

  add(above: number, below: number): void {
    this.count += 1;
    this.above += above;
    this.#below += below;
    this.#aboveSquares += above * above;
    this.#belowSquares += below * below;
    this.#products += above * below;
  }

  get log(): number {
    return Math.log(this.above / this.#below);
  }

  /** Of the logarithm. */
  get error(): number {
    const ratio = this.above / this.#below;
    const squares = this.#aboveSquares - 2 * ratio * this.#products + ratio * ratio * this.#belowSquares;
    return Math.sqrt(Math.max(0, squares) * (this.count / Math.max(1, this.count - 1))) / this.above;
  }
}

export class CapacityWindow {
  readonly sinceMs: number;
  #served = 0;
  #refused = 0;
  /** Tenants with refusals, and all whose requests ended. */
  readonly #tenants = { refused: new Set<string>(), all: new Set<string>() };
  #refusedAmongOthers = false;
  #full = 0;
  #inFlight = 0;
  readonly #delay = new RatioMean();
  readonly #firstToken = new RatioMean();

  constructor(sinceMs: number) {
    this.sinceMs = sinceMs;
  }

  /** `isFull`: every slot of the model was in use. */
  add(call: EndedCall, isFull: boolean, nowMs: number): void {
    if (nowMs - call.upstreamMs < this.sinceMs || call.outcome === "other") return;
    this.#tenants.all.add(call.tenantId);
    if (call.outcome === "refused") {
      this.#refused += 1;
      this.#tenants.refused.add(call.tenantId);
      this.#refusedAmongOthers ||= call.isAmongOthers;
      return;
    }
    this.#served += 1;
    this.#inFlight += call.inFlight;
    if (isFull) this.#full += 1;
    const upstreamMs = Math.max(LEAST_MS, call.upstreamMs);
    this.#delay.add(upstreamMs, 1 + call.outputTokens + INPUT_WORK * call.inputTokens);
    if (call.ttftMs > STREAMED_PART * upstreamMs) return;
    this.#firstToken.add(Math.max(LEAST_MS, call.ttftMs), INPUT_BASE_TOKENS + call.inputTokens);
  }

  get served(): number {
    return this.#served;
  }

  /**
   * Whether the upstream refused because of its load. If it refuses one tenant while it serves others, the cause is that
   * tenant's own requests (too large, of a tier without capacity). Counting those refusals would let it take the slots of the
   * others.
   */
  get isRefused(): boolean {
    if (this.#refused < Math.max(1, REFUSED_PART * (this.#refused + this.#served))) return false;
    return this.#tenants.refused.size > 1 || (this.#tenants.all.size === 1 && !this.#refusedAmongOthers);
  }

  /** Whether the slots limited the load, most of the time. */
  get isUsed(): boolean {
    return this.#full >= 0.5 * this.#served;
  }

  level(nowMs: number): Level {
    const [delay, first] = [this.#delay, this.#firstToken];
    return {
      load: Math.log(Math.max(1, this.#inFlight / this.#served)),
      delay: delay.log,
      error: Math.max(LEAST_ERROR, delay.error),
      firstToken:
        first.count < STREAMED_LEAST ? null : { mean: first.log, error: first.error, part: first.above / delay.above },
      endedMs: nowMs,
    };
  }
}
