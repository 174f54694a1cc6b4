/**
 * Finds the capacity of one model (docs/rules/adaptive-capacity.md): a gradient limiter. It compares the delay of measuring
 * windows at different loads. Below its knee an upstream serves more requests in the same time, so the delay stays the same;
 * above the knee delay grows with the load. The capacity moves to the point where delay grows half as fast as the load, where
 * throughput divided by delay is greatest. Time and chance are arguments. Invariants: the capacity never leaves its bounds; it
 * changes at most once per window; it grows only when its slots are in use, except at the end of a probe.
 */
import type { CapacityBounds, CapacityReason } from "../../../shared/fields/model-fields.ts";
import { CapacityWindow, type EndedCall, type Level } from "./capacity-window.ts";
import { DelayCurve } from "./delay-curve.ts";

export interface CapacityChange {
  readonly from: number;
  readonly to: number;
  readonly reason: CapacityReason;
  readonly atMs: number;
}

/** A window lasts at least so long. */
const WINDOW_MIN_MS = 2_000;
/** From then on, a few requests are enough. */
const WINDOW_LONG_MS = 8_000;
const SAMPLES_FEW = 4;
const SAMPLES_MAX = 60;

/** Delay grows with this power of the load at the knee. */
const KNEE_SLOPE = 0.48;
/** Until a window is too high, the capacity doubles. */
const RAMP = Math.log(2);
/** A step up is small at first, and larger after each success. */
const STEP_FIRST = 0.04;
const STEP_MAX = Math.log(1.15);
/** A step down for an excess of 1 of the slope. */
const GAIN = 0.5;
/** A probe lowers the capacity: fewer requests for a while cost little, but more than the knee delay every first token. */
const PROBE = 0.09;
/** In noise a probe is deeper, so that its delay differs by more than the noise. */
const PROBE_MAX = 0.35;
/** Standard errors by which a slope must differ from the slope of the knee. */
const SURE_DOWN = 1;
const SURE_UP = 0.25;
const REFUSED_STEP = Math.log(0.75);
/** So many requests may wait inside an upstream: a part of them, and in small capacities half a request. */
const WAITING_PART = 0.04;
const WAITING_REQUESTS = 0.5;
/** At most this part of the capacity is taken away because of them: a window may have those that waited before it. */
const WAITING_STEP = 0.25;
/** First tokens may take this many times the shortest time seen lately. */
const FIRST_TOKEN_ROOM = 1.4;
/** The shortest time to the first token doubles in this time, unless it is seen again. */
const REFERENCE_DOUBLES_MS = 60_000;
/** A capacity that was too high is not tried again for this long. */
const CEILING_MS = 45_000;
/** Delays that change by so much at the same load: another load came to the upstream, or went. */
const SHIFT = 0.18;
const SHIFT_SIGMAS = 3;
/** A load of at least this part of the capacity can show that the capacity is too high. */
const LOAD_PART = 0.5;
/** Windows between two probes, at least. */
const REST_WINDOWS = 4;

export class AdaptiveLimit {
  #bounds: CapacityBounds;
  #limit: number;
  #window: CapacityWindow;
  readonly #curve = new DelayCurve();
  /** It doubles until a window shows that it is too high. */
  #ramps: boolean;
  /** The capacity without the probe. */
  #base: number;
  #up = STEP_FIRST;
  #rest = 0;
  #firstToken = Number.POSITIVE_INFINITY;
  #firstTokenAtMs = 0;
  #ceiling: { readonly limit: number; readonly untilMs: number } | null = null;

  /** `start`: the known capacity, or null. */
  constructor(bounds: CapacityBounds, start: number | null, nowMs: number) {
    this.#bounds = bounds;
    this.#ramps = start === null;
    this.#limit = within(bounds, start ?? bounds.min);
    this.#base = this.#limit;
    this.#window = new CapacityWindow(nowMs);
  }

  get limit(): number {
    return this.#limit;
  }

  /** Takes new bounds. Returns the change that they cause, or null. */
  bound(bounds: CapacityBounds, nowMs: number): CapacityChange | null {
    this.#bounds = bounds;
    this.#base = within(bounds, this.#base);
    return this.#moveTo(this.#base, "bounds", nowMs);
  }

  /** Takes a request that ended. Returns the change that it causes, or null. `random`: in [0, 1). */
  ended(call: EndedCall, nowMs: number, random: () => number): CapacityChange | null {
    const window = this.#window;
    window.add(call, call.inFlight >= this.#limit, nowMs);
    const lastedMs = nowMs - window.sinceMs;
    if (lastedMs < WINDOW_MIN_MS) return null;
    if (window.isRefused) return this.#refused(nowMs);
    const wanted = Math.min(SAMPLES_MAX, Math.max(SAMPLES_FEW, this.#limit));
    if (window.served < (lastedMs >= WINDOW_LONG_MS ? SAMPLES_FEW : wanted)) return null;
    return this.#decide(window.level(nowMs), window.isUsed, nowMs, random);
  }

  #refused(nowMs: number): CapacityChange | null {
    this.#curve.clear();
    return this.#down(REFUSED_STEP, "refused", nowMs);
  }

  #decide(level: Level, isUsed: boolean, nowMs: number, random: () => number): CapacityChange | null {
    const shift = this.#curve.shiftOf(level);
    const shifted = shift !== null && Math.abs(shift.by) > Math.max(SHIFT, SHIFT_SIGMAS * shift.error);
    if (shifted) this.#curve.clear();
    this.#curve.add(level);
    const waiting = this.#waitingPart(level, nowMs);
    // A load far below the capacity says nothing about the capacity.
    if (!isUsed && Math.exp(level.load) < LOAD_PART * this.#limit) return this.#moveTo(this.#base, "probe", nowMs);
    if (waiting > Math.max(WAITING_PART, WAITING_REQUESTS / this.#limit))
      return this.#down(Math.log(1 - Math.min(WAITING_STEP, waiting)), "first_token", nowMs);
    if (shifted && shift.by > 0) return this.#down(-SHIFT, "delay", nowMs);
    if (shifted) {
      this.#ceiling = null;
      this.#up = SHIFT;
    }
    const { slope, error } = this.#curve.slopeAt(level.load, nowMs);
    if (slope - SURE_DOWN * error > KNEE_SLOPE)
      return this.#down(Math.max(-STEP_MAX, GAIN * (KNEE_SLOPE - slope)), "delay", nowMs);
    if (this.#ramps && isUsed) return this.#step(RAMP, "throughput", nowMs);
    const ceiling =
      this.#ceiling === null || this.#ceiling.untilMs <= nowMs ? Number.POSITIVE_INFINITY : this.#ceiling.limit;
    if (
      isUsed &&
      this.#base + 1 < ceiling &&
      (shifted || this.#base <= this.#bounds.min || slope + SURE_UP * error < KNEE_SLOPE)
    ) {
      const up = this.#up;
      this.#up = Math.min(STEP_MAX, 2 * up);
      return this.#step(Math.min(up, Math.log((ceiling - 1) / this.#base)), "throughput", nowMs);
    }
    this.#up = STEP_FIRST;
    if (this.#rest > 0 || this.#limit < this.#base) {
      this.#rest -= 1;
      return this.#moveTo(this.#base, "probe", nowMs);
    }
    this.#rest = REST_WINDOWS + Math.floor(random() * REST_WINDOWS);
    const load = Math.min(this.#base, Math.exp(level.load));
    const depth = Math.min(PROBE_MAX, PROBE * this.#curve.noise);
    return this.#moveTo(Math.min(this.#base - 1, Math.round(load * Math.exp(-depth))), "probe", nowMs);
  }

  /** The capacity was too high. */
  #down(by: number, reason: CapacityReason, nowMs: number): CapacityChange | null {
    const tooHigh = this.#limit;
    this.#ramps = false;
    this.#up = STEP_FIRST;
    this.#rest = 1;
    const change = this.#step(by, reason, nowMs);
    // Requests that wait are counted, which says where the edge is.
    const limit = reason === "first_token" ? this.#base + 1 : tooHigh;
    this.#ceiling = { limit, untilMs: nowMs + CEILING_MS };
    this.#curve.forgetAbove(Math.log(this.#base + 0.5));
    return change;
  }

  /** The part of the requests that wait inside the upstream, by how late first tokens are. */
  #waitingPart({ firstToken }: Level, nowMs: number): number {
    if (firstToken === null) return 0;
    const { mean, error, part } = firstToken;
    const reference = this.#firstToken + (Math.LN2 * (nowMs - this.#firstTokenAtMs)) / REFERENCE_DOUBLES_MS;
    if (mean + error < reference) {
      this.#firstToken = mean + error;
      this.#firstTokenAtMs = nowMs;
      return 0;
    }
    return Math.max(0, 1 - FIRST_TOKEN_ROOM * Math.exp(reference - mean + error)) * part;
  }

  #step(by: number, reason: CapacityReason, nowMs: number): CapacityChange | null {
    const slots = Math.max(1, Math.round(this.#limit * Math.abs(Math.exp(by) - 1)));
    this.#base = within(this.#bounds, (by < 0 ? this.#limit : this.#base) + Math.sign(by) * slots);
    return this.#moveTo(this.#base, reason, nowMs);
  }

  #moveTo(wanted: number, reason: CapacityReason, nowMs: number): CapacityChange | null {
    const from = this.#limit;
    this.#limit = within(this.#bounds, wanted);
    this.#window = new CapacityWindow(nowMs);
    return from === this.#limit ? null : { from, to: this.#limit, reason, atMs: nowMs };
  }
}

function within({ min, max }: CapacityBounds, wanted: number): number {
  return Math.min(max, Math.max(min, Math.round(wanted)));
}
