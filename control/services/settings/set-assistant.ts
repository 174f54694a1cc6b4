/**
 * Changes the assistant's settings (decisions §9.6).
 */
import { type Assistant, assistantBodySchema } from "../../../shared/schema/settings/assistant.ts";
import type { VerbContext, Written } from "../context.ts";
import { dropUndefined, parse } from "../parse.ts";
import { assistantSetting } from "./definitions.ts";
import { saveSetting } from "./setting.ts";

/** The settings. Throws 400. */
export async function setAssistant(ctx: VerbContext, input: unknown): Promise<Written<Assistant>> {
  const body = dropUndefined(parse(assistantBodySchema, input));
  return await saveSetting(ctx, assistantSetting, (before) => ({ ...before, ...body }));
}
