/** A trial of a guardrails policy on a text (docs/rules/guardrails.md#trials). */
import * as z from "zod";
import { GUARDRAIL_ACTIONS, INPUT_SCANNERS } from "../fields/tenant-fields.ts";
import { guardrailsPolicyBody } from "./tenant-policy.ts";

/** A longer text is tried in parts. */
const TEXT_MAX = 100_000;

/** POST /guardrails/test */
export const guardrailsTrialSchema = z
  .object({
    text: z
      .string({ error: "must be a string" })
      .max(TEXT_MAX, `must have at most ${TEXT_MAX} characters`)
      .meta({ description: "Neither stored nor logged" }),
    policy: guardrailsPolicyBody,
  })
  .meta({ id: "GuardrailsTrial" });

/** What happens to a text on one side. */
const outcomeSchema = z.enum(["pass", "block", "redact", "log"]);

/** What the policy finds in the text, and does with it. */
export const guardrailsVerdictSchema = z
  .object({
    action: z.enum(GUARDRAIL_ACTIONS),
    matches: z
      .array(
        z.object({
          scanner: z.enum(INPUT_SCANNERS),
          label: z.string(),
          start: z.number().int(),
          end: z.number().int(),
        }),
      )
      .meta({ description: "Offsets in UTF-16 units; `end` is exclusive" }),
    input: outcomeSchema.meta({ description: "What happens to a prompt with this text" }),
    output: outcomeSchema.meta({ description: "What happens to a response with this text" }),
    redacted: z.string().meta({ description: "The text after redaction" }),
    harm: z
      .enum(["not_listed", "not_run"])
      .meta({ description: "`not_run`: the policy lists `harm`, but only real requests are sent to the guard model" }),
  })
  .meta({ id: "GuardrailsVerdict" });

export type GuardrailsVerdict = z.infer<typeof guardrailsVerdictSchema>;
