/**
 * Which alerts leave an isolate or object, and how many occurrences each of them represents. The first alert of an issue leaves
 * at once; repeats within the quiet time are counted and leave as one when it is over. No occurrence is counted twice or
 * forgotten (docs/rules/alerts.md#cooldown-and-repeats). The state is private to this machine; time is an argument.
 */
import type { Issue } from "../../../shared/alerts.ts";

/** How long repeats of an issue are gathered, in milliseconds: a store that fails a thousand times a second is one alert. */
export const QUIET_MS = 10_000;
/** Issues that are remembered; the one that left longest ago is forgotten first. */
export const ISSUES_MAX = 1000;

/** An issue with how many times it was raised. */
export interface CountedIssue {
  readonly issue: Issue;
  readonly count: number;
}

interface Known {
  /** When it left last, epoch ms. */
  readonly leftMs: number;
  /** Alerts raised since then: the last issue, and how often. */
  waiting: CountedIssue | null;
}

export class AlertThrottle {
  /** By issue key; the issue that left longest ago comes first. */
  readonly #known = new Map<string, Known>();
  /** Keys of issues that wait for their quiet time to end. */
  readonly #waiting = new Set<string>();

  /** Counts one occurrence at `nowMs`; returns what leaves now. */
  raise(issue: Issue, nowMs: number): readonly CountedIssue[] {
    const known = this.#known.get(issue.issueKey);
    const raised = { issue, count: (known?.waiting?.count ?? 0) + 1 };
    if (known !== undefined && !isOver(known.leftMs, nowMs)) {
      known.waiting = raised;
      this.#waiting.add(issue.issueKey);
      return [];
    }
    this.#left(issue.issueKey, nowMs);
    return [raised, ...this.#forgetOldest()];
  }

  /** The issues whose quiet time has passed; they leave at `nowMs`. */
  due(nowMs: number): readonly CountedIssue[] {
    const leaving: CountedIssue[] = [];
    for (const key of this.#waiting) {
      const known = this.#known.get(key);
      if (known === undefined || known.waiting === null || !isOver(known.leftMs, nowMs)) continue;
      leaving.push(known.waiting);
      this.#left(key, nowMs);
    }
    return leaving;
  }

  /** Milliseconds from `nowMs` until something is due, at most the quiet time; null when nothing waits. */
  dueInMs(nowMs: number): number | null {
    let first: number | null = null;
    for (const key of this.#waiting) {
      const leftMs = this.#known.get(key)?.leftMs ?? nowMs;
      const inMs = isOver(leftMs, nowMs) ? 0 : leftMs + QUIET_MS - nowMs;
      first = Math.min(first ?? QUIET_MS, inMs);
    }
    return first;
  }

  #left(key: string, nowMs: number): void {
    this.#waiting.delete(key);
    this.#known.delete(key);
    this.#known.set(key, { leftMs: nowMs, waiting: null });
  }

  /** Forgets the oldest issue when there are too many, with its counts. */
  #forgetOldest(): readonly CountedIssue[] {
    if (this.#known.size <= ISSUES_MAX) return [];
    const [oldest] = this.#known;
    if (oldest === undefined) return [];
    const [key, { waiting }] = oldest;
    this.#known.delete(key);
    this.#waiting.delete(key);
    return waiting === null ? [] : [waiting];
  }
}

/** A clock that was set back ends the quiet time: it would last for as long as the clock was set back. */
function isOver(leftMs: number, nowMs: number): boolean {
  return nowMs < leftMs || nowMs - leftMs >= QUIET_MS;
}
