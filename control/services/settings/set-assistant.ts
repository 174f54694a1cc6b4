/**
 * Changes the assistant's settings (decisions §9.6).
 */
import { type Assistant, type AssistantValue, assistantBodySchema } from "../../../shared/schema/settings/assistant.ts";
import type { VerbContext, Written } from "../context.ts";
import { dropUndefined, parse } from "../parse.ts";
import { unassisted } from "../unbuilt.ts";
import { withWarnings } from "../warnings.ts";
import { assistantSetting } from "./definitions.ts";
import { saveSetting } from "./setting.ts";

/** The settings. Throws 400. */
export async function setAssistant(ctx: VerbContext, input: unknown): Promise<Written<Assistant>> {
  const body = dropUndefined(parse(assistantBodySchema, input));
  const merge = (before: AssistantValue): AssistantValue => ({ ...before, ...body });
  const { record, warnings, sync } = await saveSetting(ctx, assistantSetting, merge, () => unassisted(body));
  return { record: withWarnings(record, warnings), sync };
}
