/**
 * The settings of boons for one request (docs/rules/settings.md#boons): read only when its model has something for which
 * they matter, so that every other request costs nothing.
 */
import type { ModelRecord, SettingsRecord } from "../../../shared/records.ts";
import { type BoonsValue, boonsValueSchema } from "../../../shared/schema/settings/boons.ts";
import type { Call } from "../call/context.ts";
import type { KnownBoons } from "../call/known.ts";

/** The parsed values of the records in memory: every request of a model with boons needs one. */
const parsed = new WeakMap<SettingsRecord, BoonsValue>();

/**
 * The settings of boons for a chat completion of this model; null when no boon can apply, or when the settings cannot be
 * read: boons then stay away, and the request goes on.
 */
export async function boonSettingsOf(call: Call, model: ModelRecord): Promise<KnownBoons | null> {
  if (call.route.requestType !== "chat" || model.boons.length + model.tool_servers.length === 0) return null;
  const found = await call.ports.directory.settings("boons").catch(() => null);
  if (found === null) return null;
  const known = parsed.get(found.record) ?? boonsValueSchema.safeParse(found.record.value).data;
  if (known === undefined) return null;
  parsed.set(found.record, known);
  return { settings: known, rev: found.record.rev };
}

/**
 * Whether requests of this model get tools of the model's tool servers (docs/rules/tool-loop.md#when): what such a tool
 * answers may be another thing each time.
 */
export function hasToolLoop(model: ModelRecord, boons: KnownBoons | null): boolean {
  return boons?.settings.tool_loop_enabled === true && model.supports.function_calling && model.tool_servers.length > 0;
}
