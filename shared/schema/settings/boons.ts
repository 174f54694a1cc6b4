/**
 * The global switches and bounds of boons (docs/rules/settings.md#boons). The cells read the stored value, and admins see
 * it.
 */

import * as z from "zod";
import { TOOL_TIME_MS, TOOL_TURNS_MAX } from "../../catalogues/limits.ts";
import { flag, freeText, requiredText, revField, warningsField, whole } from "../common.ts";
import { clearableName, storedName, wholeOrKeep } from "./fields.ts";

const DESCRIBE_PROMPT = "Describe this image in detail for a reader who cannot see it. Quote all visible text exactly.";
const NUDGE = "Tools are available. Call them when they help to answer correctly; otherwise answer directly.";
const TIMEOUT_MS_MAX = 300_000;
const IMAGES_MAX = 32;
const REPAIRS_MAX = 3;
const RATIO = "above 0 and at most 1";
const prompt = requiredText(4000);

/** The stored value, which the cells also read. */
export const boonsValueSchema = z.object({
  vision_enabled: flag.default(false),
  vision_fallback_model: storedName,
  vision_describe_prompt: prompt.default(DESCRIBE_PROMPT),
  vision_max_images: whole(1, IMAGES_MAX).default(6),
  vision_timeout_ms: whole(1, TIMEOUT_MS_MAX).default(TOOL_TIME_MS),
  structured_output_enabled: flag.default(false),
  structured_output_fixer_model: storedName,
  structured_output_max_repair_attempts: whole(1, REPAIRS_MAX).default(1),
  structured_output_timeout_ms: whole(1, TIMEOUT_MS_MAX).default(30_000),
  tool_loop_enabled: flag.default(false),
  tool_loop_max_turns: whole(1, TOOL_TURNS_MAX).default(4),
  tool_loop_tool_timeout_ms: whole(1, TIMEOUT_MS_MAX).default(30_000),
  tool_loop_nudge: prompt.default(NUDGE),
  compression_enabled: flag.default(false),
  compression_min_tokens: whole(1).default(128),
  compression_max_segments: whole(1).default(64),
  compression_max_lossy_segments: whole(1).default(4),
  compression_original_ttl_secs: whole(1).default(3600),
  compression_code_compaction: flag.default(false),
  compression_dedup: flag.default(false),
  compression_allow_lossy: flag.default(false),
  compression_neural_keep_ratio: z.number().gt(0, `must be ${RATIO}`).max(1, `must be ${RATIO}`).default(0.5),
});
export type BoonsValue = z.infer<typeof boonsValueSchema>;

export const boonsSchema = boonsValueSchema.extend({ rev: revField, warnings: warningsField }).meta({ id: "Boons" });
export type Boons = z.infer<typeof boonsSchema>;

/** A count. 0 keeps the stored value, and a value above the maximum becomes the maximum. */
const cappedOrKeep = (cap: number) =>
  whole(0)
    .transform((value) => (value === 0 ? undefined : Math.min(value, cap)))
    .optional();

const RATIO_OR_KEEP = `must be 0 to keep the stored value, or ${RATIO}`;

/** PUT /settings/boons: omitted fields keep their value, and so does a number that is sent as 0. */
export const boonsBodySchema = z
  .object({
    vision_enabled: flag.optional(),
    vision_fallback_model: clearableName,
    vision_describe_prompt: freeText(4000)
      .transform((text) => (text === "" ? undefined : text))
      .optional(),
    vision_max_images: wholeOrKeep(1, IMAGES_MAX),
    vision_timeout_ms: wholeOrKeep(1, TIMEOUT_MS_MAX),
    structured_output_enabled: flag.optional(),
    structured_output_fixer_model: clearableName,
    structured_output_max_repair_attempts: cappedOrKeep(REPAIRS_MAX),
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
      .number({ error: RATIO_OR_KEEP })
      .refine((value) => value >= 0 && value <= 1, RATIO_OR_KEEP)
      .transform((value) => (value === 0 ? undefined : value))
      .optional(),
  })
  .meta({ id: "SetBoons" });
