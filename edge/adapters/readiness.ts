/** Whether this Worker could serve a request now (docs/rules/routes.md#probes). */
import { withStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

/** Probes give up after a second or a few. */
const WITHIN_MS = 1000;

/** What is waited for, in words; null: nothing. The answer needs no key, so it says no more than which part is missing. */
export async function missingPart(isStoreFilled: Promise<boolean>, askCell: Promise<unknown>): Promise<string | null> {
  const [store, cell] = await Promise.all([answerOf(isStoreFilled), answerOf(askCell)]);
  if (store === null) return "the key-value store does not answer";
  if (!store.value) return "the key-value store is not filled yet";
  return cell === null ? "the Cell does not answer" : null;
}

/** Null: it failed, or did not come in time. */
async function answerOf<T>(work: Promise<T>): Promise<{ readonly value: T } | null> {
  return await withStallTolerantTimeout(work, WITHIN_MS).catch(() => null);
}
