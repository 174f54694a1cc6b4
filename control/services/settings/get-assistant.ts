/**
 * Reads the assistant's settings.
 */
import type { Assistant } from "../../../shared/schema/settings/assistant.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { assistantSetting } from "../../settings/definitions.ts";
import { readSetting } from "../../settings/setting.ts";

/** The settings. */
export async function getAssistant(ctx: VerbContext): Promise<Assistant> {
  return (await readSetting(ctx, assistantSetting)).value;
}
