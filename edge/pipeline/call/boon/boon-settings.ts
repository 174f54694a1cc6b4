/**
 * The settings of boons for one request (docs/rules/settings.md#boons): read only when they matter for its model, so that every
 * other request costs nothing.
 */
import type { ModelRecord } from "../../../../shared/records.ts";
import { boonsValueSchema } from "../../../../shared/schema/settings/boons.ts";
import type { Call } from "../context.ts";
import { settingsReader } from "../hot-settings.ts";
import type { KnownBoons } from "../known.ts";

/** The settings of boons; null when they cannot be read: boons are skipped then, and the request continues. */
export const readBoonSettings = settingsReader("boons", (value) => boonsValueSchema.safeParse(value).data);

/** The settings of boons for a chat completion of this model; null also when no boon can apply. */
export async function boonSettingsOf(call: Call, model: ModelRecord): Promise<KnownBoons | null> {
  return mayHaveBoons(call, model) ? await readBoonSettings(call) : null;
}

/** Whether boons stay away only because their settings cannot be read now: a later request may get another answer. */
export function lacksBoonSettings(call: Call, model: ModelRecord, boons: KnownBoons | null): boolean {
  return boons === null && mayHaveBoons(call, model);
}

function mayHaveBoons({ route }: Call, model: ModelRecord): boolean {
  return route.requestType === "chat" && model.boons.length + model.tool_servers.length > 0;
}

/**
 * Whether requests of this model get tools of the model's tool servers (docs/rules/tool-loop.md#when): the answer of such a
 * tool may differ each time.
 */
export function hasToolLoop(model: ModelRecord, boons: KnownBoons | null): boolean {
  return boons?.settings.tool_loop_enabled === true && model.supports.function_calling && model.tool_servers.length > 0;
}
