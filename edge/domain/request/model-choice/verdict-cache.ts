/**
 * Recent answers of the classifier (docs/rules/auto-router.md#classifier). Holds digests of texts, never a text. All entries
 * have the same lifetime, so the oldest expires first.
 */
import { sha256Hex } from "../../../../shared/crypto/sha256.ts";

/** How long a verdict is used, ms. */
export const VERDICT_TTL_MS = 300_000;
const ENTRIES_MAX = 10_000;

interface Verdict {
  readonly tags: readonly string[];
  readonly untilMs: number;
}

export class VerdictCache {
  readonly #verdicts = new Map<string, Verdict>();
  readonly #entriesMax: number;

  constructor(entriesMax = ENTRIES_MAX) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#verdicts.size;
  }

  /** The verdict on a text with this vocabulary, which may be empty; null: none is known. */
  find(key: string, nowMs: number): readonly string[] | null {
    const verdict = this.#verdicts.get(key);
    return verdict !== undefined && nowMs < verdict.untilMs ? verdict.tags : null;
  }

  /** Keeps a verdict from now on. */
  keep(key: string, tags: readonly string[], nowMs: number): void {
    this.#verdicts.delete(key);
    this.#verdicts.set(key, { tags, untilMs: nowMs + VERDICT_TTL_MS });
    for (const [oldest, { untilMs }] of this.#verdicts) {
      if (this.#verdicts.size <= this.#entriesMax && nowMs < untilMs) break;
      this.#verdicts.delete(oldest);
    }
  }
}

/** The key of the verdict on a text with a vocabulary. */
export function verdictKey(vocabulary: readonly string[], text: string): string {
  return sha256Hex(JSON.stringify([vocabulary, text]));
}
