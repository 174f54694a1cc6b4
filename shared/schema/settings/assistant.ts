/**
 * The dashboard's assistant (docs/rules/assistant.md).
 */
import * as z from "zod";
import { flag, freeText, revField, warningsField, whole } from "../common.ts";
import { clearableName, storedName } from "./fields.ts";

const fields = {
  enabled: flag,
  tools_enabled: z
    .record(freeText(200), flag, {
      error: "must map tool names to true or false",
    })
    .refine((tools) => Object.keys(tools).length <= 1000, "must have at most 1000 entries"),
  bench_max_concurrency: whole(1, 256),
  bench_max_duration_s: whole(1, 600),
  bench_max_requests: whole(1, 20_000),
};

/** The stored value. A tool that is not listed is on. */
export const assistantValueSchema = z.object({
  enabled: fields.enabled.default(true),
  brain_model: storedName,
  tools_enabled: fields.tools_enabled.default({}),
  bench_max_concurrency: fields.bench_max_concurrency.default(40),
  bench_max_duration_s: fields.bench_max_duration_s.default(120),
  bench_max_requests: fields.bench_max_requests.default(500),
});
export type AssistantValue = z.infer<typeof assistantValueSchema>;

/** The warning for an admin: an enabled assistant needs a model (docs/rules/assistant.md#model). */
export function assistantWarnings({ enabled, brain_model }: AssistantValue): readonly string[] {
  return enabled && brain_model === null ? ["the assistant is on but cannot answer: set brain_model"] : [];
}

/** What admins see. */
export const assistantSchema = assistantValueSchema
  .extend({ rev: revField, warnings: warningsField })
  .meta({ id: "Assistant" });
export type Assistant = z.infer<typeof assistantSchema>;

/** PUT /settings/assistant: omitted fields keep their value; a map in the body replaces the stored one. */
export const assistantBodySchema = z
  .object({ ...fields, brain_model: clearableName })
  .partial()
  .meta({ id: "SetAssistant" });
