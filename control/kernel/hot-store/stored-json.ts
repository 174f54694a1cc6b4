/**
 * Reads what background parts store in the key-value store for admins. When it cannot be read, a settings page is shown
 * without it.
 */
import type { z } from "zod";
import type { HotStore } from "./hot-store.ts";

/** The value; null when there is none, it is malformed, or the store does not answer. */
export async function readStoredJson<T>(store: HotStore, name: string, schema: z.ZodType<T>): Promise<T | null> {
  try {
    const [text] = await store.get([name]);
    return schema.parse(JSON.parse(text ?? "null"));
  } catch {
    return null;
  }
}
