/**
 * Writes a cell's state to the hash `cells` of the key-value store (docs/rules/storage-layouts.md#key-value-keys),
 * where the control service finds every cell. A failure is harmless and never thrown: the state is written again ten
 * seconds later.
 */
import { Redis } from "@upstash/redis/cloudflare";
import { type CellSeen, storeKeys } from "../../shared/records.ts";

/** True when the store has stored it. */
export async function reportCell(
  store: { readonly url: string; readonly token: string },
  cell: string,
  seen: CellSeen,
): Promise<boolean> {
  const redis = new Redis({
    url: store.url,
    token: store.token,
    retry: false,
    signal: () => AbortSignal.timeout(1000),
    enableTelemetry: false,
  });
  try {
    await redis.hset(storeKeys.cells, { [cell]: JSON.stringify(seen) });
    return true;
  } catch {
    return false;
  }
}
