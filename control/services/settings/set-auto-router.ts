/**
 * Configures the auto router's classifier. Clearing its model turns it off: routing goes by heuristics (specification
 * "Settings", decisions §9.2).
 */
import {
  type AutoRouter,
  type AutoRouterValue,
  autoRouterBodySchema,
} from "../../../shared/schema/settings/auto-router.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { autoRouterWarnings } from "../../kernel/no-effect-warnings.ts";
import { dropUndefined, parse } from "../../kernel/parse.ts";
import { withWarnings } from "../../kernel/warnings.ts";
import { autoRouterSetting } from "../../settings/definitions.ts";
import { saveSetting } from "../../settings/setting.ts";
import { autoRouterRecord } from "./get-auto-router.ts";

/** The settings. Throws 400. */
export async function setAutoRouter(ctx: VerbContext, input: unknown): Promise<Written<AutoRouter>> {
  const body = dropUndefined(parse(autoRouterBodySchema, input));
  const off = body.classifier_model === null ? { classifier_enabled: false } : {};
  const merge = (before: AutoRouterValue): AutoRouterValue => ({ ...before, ...body, ...off });
  const { record, warnings, sync } = await saveSetting(ctx, autoRouterSetting, merge, (_before, after) =>
    after.classifier_enabled ? autoRouterWarnings(body) : [],
  );
  return { record: withWarnings(await autoRouterRecord(ctx, record), warnings), sync };
}
