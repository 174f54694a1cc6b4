/**
 * Configures the auto router's classifier. Clearing its model turns it off: routing goes by heuristics (specification
 * "Settings", decisions §9.2).
 */
import {
  type AutoRouter,
  type AutoRouterValue,
  autoRouterBodySchema,
} from "../../../shared/schema/settings/auto-router.ts";
import type { VerbContext, Written } from "../context.ts";
import { dropUndefined, parse } from "../parse.ts";
import { unrouted } from "../unbuilt.ts";
import { withWarnings } from "../warnings.ts";
import { autoRouterSetting } from "./definitions.ts";
import { autoRouterRecord } from "./get-auto-router.ts";
import { saveSetting } from "./setting.ts";

/** The settings. Throws 400. */
export async function setAutoRouter(ctx: VerbContext, input: unknown): Promise<Written<AutoRouter>> {
  const body = dropUndefined(parse(autoRouterBodySchema, input));
  const off = body.classifier_model === null ? { classifier_enabled: false } : {};
  const merge = (before: AutoRouterValue): AutoRouterValue => ({ ...before, ...body, ...off });
  const { record, warnings, sync } = await saveSetting(ctx, autoRouterSetting, merge, (_before, after) =>
    after.classifier_enabled ? unrouted(body) : [],
  );
  return { record: withWarnings(await autoRouterRecord(ctx, record), warnings), sync };
}
