/**
 * The global switches and bounds of boons (docs/rules/settings.md#boons). The cells read the stored value, and admins see
 * it.
 */

import * as z from "zod";
import { TOOL_TIME_MS, TOOL_TURNS_MAX } from "../../catalogues/limits.ts";
import { flag, freeText, revField, warningsField, whole } from "../common.ts";
import { clearableName, wholeOrKeep } from "./fields.ts";

const DESCRIBE_PROMPT = "Describe this image in detail for a reader who cannot see it. Quote all visible text exactly.";
const NUDGE = "Tools are available. Call them when they help to answer correctly; otherwise answer directly.";
const TIMEOUT_MS_MAX = 300_000;

/** The stored value, which the cells also read. */
export const boonsValueSchema = z.object({
  vision_enabled: z.boolean().default(false),
  vision_fallback_model: z.string().nullable().default(null),
  vision_describe_prompt: z.string().default(DESCRIBE_PROMPT),
  vision_max_images: z.number().int().default(6),
  vision_timeout_ms: z.number().int().default(TOOL_TIME_MS),
  structured_output_enabled: z.boolean().default(false),
  structured_output_fixer_model: z.string().nullable().default(null),
  structured_output_max_repair_attempts: z.number().int().default(1),
  structured_output_timeout_ms: z.number().int().default(30_000),
  tool_loop_enabled: z.boolean().default(false),
  tool_loop_max_turns: z.number().int().default(4),
  tool_loop_tool_timeout_ms: z.number().int().default(30_000),
  tool_loop_nudge: z.string().default(NUDGE),
  compression_enabled: z.boolean().default(false),
  compression_min_tokens: z.number().int().default(128),
  compression_max_segments: z.number().int().default(64),
  compression_max_lossy_segments: z.number().int().default(4),
  compression_original_ttl_secs: z.number().int().default(3600),
  compression_code_compaction: z.boolean().default(false),
  compression_dedup: z.boolean().default(false),
  compression_allow_lossy: z.boolean().default(false),
  compression_neural_keep_ratio: z.number().default(0.5),
});
export type BoonsValue = z.infer<typeof boonsValueSchema>;

export const boonsSchema = boonsValueSchema.extend({ rev: revField, warnings: warningsField }).meta({ id: "Boons" });
export type Boons = z.infer<typeof boonsSchema>;

/** A count. 0 keeps the stored value, and a value above the maximum becomes the maximum. */
const cappedOrKeep = (cap: number) =>
  whole(0)
    .transform((value) => (value === 0 ? undefined : Math.min(value, cap)))
    .optional();

const RATIO = "must be 0 to keep the stored value, or above 0 and at most 1";

/** PUT /settings/boons: what is omitted keeps its value, and so does 0 for a number. */
export const boonsBodySchema = z
  .object({
    vision_enabled: flag.optional(),
    vision_fallback_model: clearableName,
    vision_describe_prompt: freeText(4000)
      .transform((text) => (text === "" ? undefined : text))
      .optional(),
    vision_max_images: wholeOrKeep(1, 32),
    vision_timeout_ms: wholeOrKeep(1, TIMEOUT_MS_MAX),
    structured_output_enabled: flag.optional(),
    structured_output_fixer_model: clearableName,
    structured_output_max_repair_attempts: cappedOrKeep(3),
    structured_output_timeout_ms: wholeOrKeep(1, TIMEOUT_MS_MAX),
    tool_loop_enabled: flag.optional(),
    tool_loop_max_turns: cappedOrKeep(TOOL_TURNS_MAX),
    tool_loop_tool_timeout_ms: wholeOrKeep(1, TIMEOUT_MS_MAX),
    tool_loop_nudge: freeText(4000)
      .transform((text) => (text === "" ? NUDGE : text))
      .optional(),
    compression_enabled: flag.optional(),
    compression_min_tokens: wholeOrKeep(1),
    compression_max_segments: wholeOrKeep(1),
    compression_max_lossy_segments: wholeOrKeep(1),
    compression_original_ttl_secs: wholeOrKeep(1),
    compression_code_compaction: flag.optional(),
    compression_dedup: flag.optional(),
    compression_allow_lossy: flag.optional(),
    compression_neural_keep_ratio: z
      .number({ error: RATIO })
      .refine((value) => value >= 0 && value <= 1, RATIO)
      .transform((value) => (value === 0 ? undefined : value))
      .optional(),
  })
  .meta({ id: "SetBoons" });
