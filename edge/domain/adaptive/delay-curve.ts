/** How the delay of an upstream depends on its load, near the present load: a weighted regression over recent windows. */
import type { Level } from "./capacity-window.ts";

const LEVELS_KEPT = 32;
const KEEP_MS = 120_000;
/** A window of this age counts e times less. */
const FADE_MS = 45_000;
/** So does one whose load differs by this factor. */
const NEAR = Math.log(1.45);
/** A window is this part of the noise. */
const NOISE_PART = 0.15;
/** A larger square is another load at the upstream. */
const NOISE_MAX = 16;

interface Slope {
  /** The power of the load with which delay grows: 0 below the knee of an upstream, 1 far above. */
  readonly slope: number;
  readonly error: number;
}

export class DelayCurve {
  #levels: Level[] = [];
  /** Mean square of the differences between windows at the same load, in their standard errors. */
  #square = 1;

  add(level: Level): void {
    this.#levels = [
      ...this.#levels.slice(1 - LEVELS_KEPT).filter(({ endedMs }) => endedMs > level.endedMs - KEEP_MS),
      level,
    ];
  }

  /** Forgets levels of higher loads: the steep part of the curve, which says nothing about the part below. */
  forgetAbove(load: number): void {
    this.#levels = this.#levels.filter((level) => level.load <= load);
  }

  clear(): void {
    this.#levels = [];
  }

  /** What stalls delays all requests of a window together, so windows differ by more than their errors: by this factor. */
  get noise(): number {
    return Math.sqrt(Math.max(1, this.#square));
  }

  /**
   * How far the delay of a new level differs from other levels at about the same load; null if there are none. The noise learns
   * from it.
   */
  shiftOf({ load, delay, error, endedMs }: Level): { readonly by: number; readonly error: number } | null {
    const near = this.#levels.filter((other) => Math.abs(other.load - load) < NEAR / 4);
    if (near.length === 0) return null;
    let [weights, sum] = [0, 0];
    for (const other of near) {
      const weight = Math.exp((other.endedMs - endedMs) / FADE_MS) / other.error ** 2;
      weights += weight;
      sum += weight * other.delay;
    }
    const by = delay - sum / weights;
    const square = error ** 2 + 1 / weights;
    this.#square += NOISE_PART * (Math.min(NOISE_MAX, by ** 2 / square) - this.#square);
    return { by, error: Math.sqrt(square) * this.noise };
  }

  slopeAt(load: number, nowMs: number): Slope {
    const weighed = this.#levels.map((level) => {
      const near = Math.exp(-(((level.load - load) / NEAR) ** 2) / 2);
      return { ...level, weight: (near * Math.exp((level.endedMs - nowMs) / FADE_MS)) / level.error ** 2 };
    });
    const total = weighed.reduce((sum, { weight }) => sum + weight, 0);
    if (total === 0) return { slope: 0, error: Number.POSITIVE_INFINITY };
    const meanLoad = weighed.reduce((sum, level) => sum + level.weight * level.load, 0) / total;
    const meanDelay = weighed.reduce((sum, level) => sum + level.weight * level.delay, 0) / total;
    let [squares, products] = [0, 0];
    for (const level of weighed) {
      squares += level.weight * (level.load - meanLoad) ** 2;
      products += level.weight * (level.load - meanLoad) * (level.delay - meanDelay);
    }
    if (squares < 1e-9) return { slope: 0, error: Number.POSITIVE_INFINITY };
    return { slope: products / squares, error: this.noise / Math.sqrt(squares) };
  }
}
