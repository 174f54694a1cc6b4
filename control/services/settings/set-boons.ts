/**
 * Changes the global settings of boons; the very next request goes by them (decisions §9.7).
 */
import { type Boons, boonsBodySchema } from "../../../shared/schema/settings/boons.ts";
import type { VerbContext, Written } from "../context.ts";
import { dropUndefined, parse } from "../parse.ts";
import { boonsSetting } from "./definitions.ts";
import { saveSetting } from "./setting.ts";

/** The settings. Throws 400. */
export async function setBoons(ctx: VerbContext, input: unknown): Promise<Written<Boons>> {
  const body = dropUndefined(parse(boonsBodySchema, input));
  return await saveSetting(ctx, boonsSetting, (before) => ({ ...before, ...body }));
}
