/**
 * Writes a cell's state to the hash `cells` of the key-value store (docs/rules/storage-layouts.md#key-value-keys),
 * where the control service finds every cell. A failure is harmless: the state is written again ten seconds later.
 */
import { Redis } from "@upstash/redis/cloudflare";
import { type CellSeen, storeKeys } from "../../shared/records.ts";

/** Rejects when the store has not stored it. */
export async function reportCell(
  store: { readonly url: string; readonly token: string },
  cell: string,
  seen: CellSeen,
): Promise<void> {
  const redis = new Redis({
    url: store.url,
    token: store.token,
    retry: false,
    signal: () => AbortSignal.timeout(1000),
    enableTelemetry: false,
  });
  await redis.hset(storeKeys.cells, { [cell]: JSON.stringify(seen) });
}
