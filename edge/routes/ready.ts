/**
 * `GET /ready`: whether a request could be served now (docs/rules/routes.md#probes). It needs no key, and says no more than
 * which part is missing.
 */
import { withStallTolerantTimeout } from "../adapters/stall-tolerant-timeout.ts";
import type { Deps } from "../deps.ts";

/** Probes give up after a second or a few. */
const WITHIN_MS = 1000;

/** What this Worker waits for, in words; null: nothing. `depsOf` throws when the configuration cannot be read. */
export async function missingPart(depsOf: () => Deps): Promise<string | null> {
  let deps: Deps;
  try {
    deps = depsOf();
  } catch {
    return "the configuration is invalid";
  }
  const [store, cell] = await Promise.all([
    answerOf(deps.isStoreFilled()),
    answerOf(deps.cell.withCell(async (stub) => await stub.stats())),
  ]);
  if (store === null) return "the key-value store does not answer";
  if (!store) return "the key-value store is not filled yet";
  return cell === null ? "the Cell does not answer" : null;
}

/** Null: it failed, or did not come in time. */
async function answerOf<T>(work: Promise<T>): Promise<T | null> {
  return (await withStallTolerantTimeout(work, WITHIN_MS).catch(() => null))?.value ?? null;
}
