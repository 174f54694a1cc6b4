/**
 * Changes the assistant's settings (decisions §9.6).
 */
import { type Assistant, type AssistantValue, assistantBodySchema } from "../../../shared/schema/settings/assistant.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { assistantWarnings } from "../../kernel/no-effect-warnings.ts";
import { dropUndefined, parse } from "../../kernel/parse.ts";
import { withWarnings } from "../../kernel/warnings.ts";
import { assistantSetting } from "../../settings/definitions.ts";
import { saveSetting } from "../../settings/setting.ts";

/** The settings. Throws 400. */
export async function setAssistant(ctx: VerbContext, input: unknown): Promise<Written<Assistant>> {
  const body = dropUndefined(parse(assistantBodySchema, input));
  const merge = (before: AssistantValue): AssistantValue => ({ ...before, ...body });
  const { record, warnings, sync } = await saveSetting(ctx, assistantSetting, merge, () => assistantWarnings(body));
  return { record: withWarnings(record, warnings), sync };
}
