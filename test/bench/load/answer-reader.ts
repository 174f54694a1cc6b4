/**
 * Reads one answer as its bytes arrive and says whether it was complete. It inspects as few bytes as possible, so that
 * reading costs the measured machine next to nothing. The times of timed events are those of the clock that all processes
 * of a machine share.
 */
import type { SliceReading } from "../slice.ts";

/** The time of the machine's monotonic clock, in milliseconds. */
export const clockMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** The times that a reader has seen in all streams of a slice. */
export interface StreamTimes {
  readonly firstMs: number[];
  readonly addedGapMs: number[];
  longestGapMs: number;
}

const DONE = "data: [DONE]\n\n";

const REFUSAL_MAX = 160;

export class AnswerReader {
  readonly #reading: SliceReading;
  readonly #times: StreamTimes;
  readonly #clock: () => number;
  readonly #calledMs: number;
  #first = true;
  #tail = "";
  #lastWayMs: number | null = null;
  #lastSeenMs: number;
  #refusal = "";

  constructor(reading: SliceReading, times: StreamTimes, calledMs: number, clock = clockMs) {
    this.#reading = reading;
    this.#times = times;
    this.#clock = clock;
    this.#calledMs = calledMs;
    this.#lastSeenMs = calledMs;
  }

  read(status: number, chunk: Buffer): void {
    if (status !== 200) {
      this.#refusal = (this.#refusal + chunk.toString("utf8")).slice(0, REFUSAL_MAX);
      return;
    }
    if (this.#reading === "whole") return;
    const nowMs = this.#clock();
    if (this.#first) this.#times.firstMs.push(nowMs - this.#calledMs);
    if (this.#reading === "timed-stream") {
      if (!this.#first) this.#times.longestGapMs = Math.max(this.#times.longestGapMs, nowMs - this.#lastSeenMs);
      this.#lastSeenMs = nowMs;
      this.#readEvents(chunk, nowMs);
    } else {
      this.#tail = (this.#tail + chunk.subarray(-DONE.length).toString("latin1")).slice(-DONE.length);
    }
    this.#first = false;
  }

  #readEvents(chunk: Buffer, nowMs: number): void {
    const text = this.#tail + chunk.toString("latin1");
    const end = text.lastIndexOf("\n\n") + 2;
    for (const [, written] of text.slice(0, end < 2 ? 0 : end).matchAll(/"at":([\d.]+)/g)) {
      const wayMs = nowMs - Number(written);
      if (this.#lastWayMs !== null) this.#times.addedGapMs.push(Math.abs(wayMs - this.#lastWayMs));
      this.#lastWayMs = wayMs;
    }
    this.#tail = text.slice(text.endsWith(DONE) ? -DONE.length : end);
  }

  /** What is wrong with the answer that has just ended; null when it was complete. */
  verdict(status: number): string | null {
    if (status !== 200) return `${status} ${this.#refusal}`;
    return this.#reading === "whole" || this.#tail === DONE ? null : "stream without [DONE]";
  }
}
