/**
 * Changes the global settings of boons; the very next request goes by them (decisions §9.7).
 */
import { type Boons, type BoonsValue, boonsBodySchema } from "../../../shared/schema/settings/boons.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { boonsWarnings } from "../../kernel/no-effect-warnings.ts";
import { dropUndefined, parse } from "../../kernel/parse.ts";
import { withWarnings } from "../../kernel/warnings.ts";
import { boonsSetting } from "../../settings/definitions.ts";
import { saveSetting } from "../../settings/setting.ts";

/** The settings. Throws 400. */
export async function setBoons(ctx: VerbContext, input: unknown): Promise<Written<Boons>> {
  const body = dropUndefined(parse(boonsBodySchema, input));
  const merge = (before: BoonsValue): BoonsValue => ({ ...before, ...body });
  const { record, warnings, sync } = await saveSetting(ctx, boonsSetting, merge, () => boonsWarnings(body));
  return { record: withWarnings<Boons>(record, warnings), sync };
}
