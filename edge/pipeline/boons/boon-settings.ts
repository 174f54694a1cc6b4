/**
 * The settings of boons for one request (docs/rules/settings.md#boons): read only when its model has something for which
 * they matter, so that every other request costs nothing.
 */
import type { ModelRecord } from "../../../shared/records.ts";
import { boonsValueSchema } from "../../../shared/schema/settings/boons.ts";
import type { Call } from "../call/context.ts";
import { settingsReader } from "../call/hot-settings.ts";
import type { KnownBoons } from "../call/known.ts";

/** The settings of boons; null when they cannot be read: boons then stay away, and the request goes on. */
export const readBoonSettings = settingsReader("boons", (value) => boonsValueSchema.safeParse(value).data);

/** The settings of boons for a chat completion of this model; null also when no boon can apply. */
export async function boonSettingsOf(call: Call, model: ModelRecord): Promise<KnownBoons | null> {
  if (call.route.requestType !== "chat" || model.boons.length + model.tool_servers.length === 0) return null;
  return await readBoonSettings(call);
}
