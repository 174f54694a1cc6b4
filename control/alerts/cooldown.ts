/**
 * Which alerts are told and which are repeats (decisions §35): one per issue and interval over all processes, by way of the
 * key-value store. While the store is away this process goes by its own memory, so that an alert about the store is told.
 * An alert whose sending was cut off is no repeat of itself when it is handed over again.
 */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { KeyStore } from "../publish/key-store.ts";

const REMEMBERED_MAX = 10_000;
/** Counts of suppressed repeats outlive every interval that can be set. */
const COUNT_KEPT_SECS = 7 * 86_400;

/** The part of the key-value store that cooldowns need; every call rejects when it does not answer. */
export type CooldownStore = Pick<KeyStore, "claimAs" | "putFor" | "count" | "takeCount">;

export class Cooldown {
  readonly #store: CooldownStore;
  readonly #now: () => number;
  /** Issue key -> until when it is quiet, epoch ms, for when the store is away. */
  readonly #quiet = new LRUCache<string, number>({ max: REMEMBERED_MAX });

  constructor(store: CooldownStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /**
   * Null: a repeat, which is counted. Else how many repeats were suppressed before; whoever sends the alert then says so
   * ({@link told}). Never throws.
   */
  async enter(
    issueKey: string,
    alertId: string,
    intervalSecs: number,
  ): Promise<{ readonly suppressed: number } | null> {
    const nowMs = this.#now();
    const told = intervalSecs === 0 || (await this.#claim(issueKey, alertId, intervalSecs, nowMs));
    const counter = `alert:suppressed:${digest(issueKey)}`;
    try {
      if (told) return { suppressed: await this.#store.takeCount(counter) };
      await this.#store.count(counter, COUNT_KEPT_SECS);
      return null;
    } catch {
      return told ? { suppressed: 0 } : null;
    }
  }

  /** The alert was sent, or given up. Never throws. */
  async told(issueKey: string, intervalSecs: number): Promise<void> {
    if (intervalSecs > 0) await this.#store.putFor(nameOf(issueKey), "told", intervalSecs).catch(() => undefined);
  }

  async #claim(issueKey: string, alertId: string, intervalSecs: number, nowMs: number): Promise<boolean> {
    const quietUntilMs = this.#quiet.get(issueKey) ?? 0;
    const free = await this.#store.claimAs(alertId, nameOf(issueKey), intervalSecs).catch(() => nowMs >= quietUntilMs);
    if (free) this.#quiet.set(issueKey, nowMs + intervalSecs * 1000);
    return free;
  }
}

const nameOf = (issueKey: string): string => `alert:cooldown:${digest(issueKey)}`;

function digest(issueKey: string): string {
  return createHash("sha256").update(issueKey).digest("hex");
}
