/** Which guardrails policies may be written: only one that can do something (docs/rules/tenants.md#policies). */
import { canBeFound } from "../../shared/guardrails/keywords.ts";
import { whenValid } from "../../shared/schema/common.ts";
import { guardrailsPolicyBody } from "../../shared/schema/tenant-policy.ts";

/** A policy as a write stores it. A backup may still hold one from before that does nothing. */
export const guardrailsPolicyWrite = guardrailsPolicyBody
  .refine(
    ({ ban_keywords, input_scanners, output_scanners }) =>
      ban_keywords.length === 0 || input_scanners.includes("ban_keywords") || output_scanners.includes("ban_keywords"),
    {
      path: ["ban_keywords"],
      message: "has no effect until the scanner ban_keywords is listed",
      when: whenValid("ban_keywords", "input_scanners", "output_scanners"),
    },
  )
  .refine(({ ban_keywords }) => ban_keywords.every(canBeFound), {
    path: ["ban_keywords"],
    message: "must not have a keyword of unseen characters alone: it finds nothing",
    when: whenValid("ban_keywords"),
  })
  .refine(({ input_scanners, output_scanners }) => input_scanners.length > 0 || output_scanners.length > 0, {
    path: ["input_scanners"],
    message: "must list a scanner unless output_scanners does: without one, the policy does nothing",
    when: whenValid("input_scanners", "output_scanners"),
  })
  .refine(
    ({ ban_keywords, input_scanners, output_scanners }) =>
      ban_keywords.length > 0 ||
      input_scanners.length + output_scanners.length === 0 ||
      [...input_scanners, ...output_scanners].some((scanner) => scanner !== "ban_keywords"),
    {
      path: ["ban_keywords"],
      message: "must have a keyword while ban_keywords is the only scanner: without one, it finds nothing",
      when: whenValid("ban_keywords", "input_scanners", "output_scanners"),
    },
  );
