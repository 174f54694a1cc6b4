/**
 * What this replica knows of its messages on one channel (docs/rules/alerts.md#failures-of-channels): whose turn it is, and when a
 * message that could not be sent is tried again. A replica that takes over knows none of it: it tries earlier, and longer.
 */
import { TenantTurns } from "../kernel/tenant-turns.ts";

/** The pause after the first failure; it doubles with each further one. */
const PAUSE_MS = 2000;
const PAUSE_MAX_MS = 120_000;
/** A channel that asks for a longer pause than this is asked again after it. */
const ASKED_MAX_MS = 600_000;
/** A message is given up when it could not be sent for so long. */
const GIVEN_UP_MS = 3_600_000;

export class ChannelTries {
  readonly turns = new TenantTurns();
  readonly #failed = new Map<string, { readonly firstMs: number; readonly untilMs: number }>();
  #failures = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  /** Nothing is sent now. */
  isPaused(nowMs: number): boolean {
    return isAhead(this.#untilMs, nowMs);
  }

  /** Issues that failed lately: others are tried before them, so that one that is never taken delays no other. */
  held(nowMs: number): string[] {
    return [...this.#failed].flatMap(([issueKey, { untilMs }]) => (isAhead(untilMs, nowMs) ? [issueKey] : []));
  }

  /** The message was sent, or refused for good. */
  ended(issueKey: string): void {
    this.#failed.delete(issueKey);
    this.#failures = 0;
  }

  /** The message could not be sent. True if it is tried again; `askedMs`: how long the channel asks to wait. */
  failed(issueKey: string, askedMs: number | null, nowMs: number): boolean {
    const own = Math.min(PAUSE_MS * 2 ** this.#failures, PAUSE_MAX_MS);
    const pauseMs = askedMs === null ? own : Math.min(Math.max(askedMs, 0), ASKED_MAX_MS);
    this.#failures += 1;
    this.#untilMs = nowMs + pauseMs;
    // an issue that was acknowledged since, or is no longer sent here, is forgotten
    for (const [key, { untilMs }] of this.#failed) if (nowMs - untilMs >= GIVEN_UP_MS) this.#failed.delete(key);
    const firstMs = this.#failed.get(issueKey)?.firstMs ?? nowMs;
    this.#failed.delete(issueKey);
    if (nowMs - firstMs >= GIVEN_UP_MS) return false;
    this.#failed.set(issueKey, { firstMs, untilMs: nowMs + 2 * pauseMs });
    return true;
  }
}

/** A time that is further ahead than any pause was set before the clock was set back. */
const isAhead = (untilMs: number, nowMs: number): boolean => untilMs > nowMs && untilMs <= nowMs + 2 * ASKED_MAX_MS;
