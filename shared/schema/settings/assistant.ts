/**
 * The dashboard's assistant (docs/rules/assistant.md).
 */
import * as z from "zod";
import { flag, freeText, revField, warningsField, whole } from "../common.ts";
import { clearableName } from "./fields.ts";

/** The stored value. A tool that is not listed is on. */
export const assistantValueSchema = z.object({
  enabled: z.boolean().default(true),
  brain_model: z.string().nullable().default(null),
  tools_enabled: z.record(z.string(), z.boolean()).default({}),
  bench_max_concurrency: z.number().int().default(40),
  bench_max_duration_s: z.number().int().default(120),
  bench_max_requests: z.number().int().default(500),
});
export type AssistantValue = z.infer<typeof assistantValueSchema>;

/** What an admin is told of a value: an assistant that is on needs a model to ask (docs/rules/assistant.md#model). */
export function assistantWarnings({ enabled, brain_model }: AssistantValue): readonly string[] {
  return enabled && brain_model === null ? ["the assistant is on but cannot answer: set brain_model"] : [];
}

/** What admins see. */
export const assistantSchema = assistantValueSchema
  .extend({ rev: revField, warnings: warningsField })
  .meta({ id: "Assistant" });
export type Assistant = z.infer<typeof assistantSchema>;

/** PUT /settings/assistant: what is omitted keeps its value; a map in the body replaces the stored one. */
export const assistantBodySchema = z
  .object({
    enabled: flag.optional(),
    brain_model: clearableName,
    tools_enabled: z
      .record(freeText(200), flag, {
        error: "must map tool names to true or false",
      })
      .refine((tools) => Object.keys(tools).length <= 1000, "must have at most 1000 entries")
      .optional(),
    bench_max_concurrency: whole(1, 256).optional(),
    bench_max_duration_s: whole(1, 600).optional(),
    bench_max_requests: whole(1, 20_000).optional(),
  })
  .meta({ id: "SetAssistant" });
