import { hashKeySecret } from "../../shared/access/api-key.ts";
import { storeKeys } from "../../shared/records.ts";
import type { VerbContext, Written } from "./context.ts";

/**
 * What was written, when the data plane can find the new key of one of the gateway's own processes, which uses it at once: without
 * its copy the key would be refused as unknown. Cells that have not confirmed do not matter, because no cell knows anything older
 * of a new key. Throws 503 when the store does not take the copy.
 */
export async function whenStored<T>(ctx: VerbContext, written: Written<T>, secret: string): Promise<Written<T>> {
  if (written.sync === "pending") await ctx.publisher.refresh([storeKeys.key(hashKeySecret(secret, ctx.pepper))]);
  return written;
}
