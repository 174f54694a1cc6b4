/**
 * Policies for a tenant's traffic: guardrails, compression, tracing, and whether it is synthetic
 * (docs/rules/tenants.md#policies). A policy is on when it is set; null clears it.
 */
import * as z from "zod";
import { GUARDRAIL_ACTIONS, INPUT_SCANNERS, OUTPUT_SCANNERS } from "../fields/tenant-fields.ts";
import { blankIsNull, flag, freeText, oneOf, patchShape, requiredText, whenValid } from "./common.ts";

const KEYWORDS_MAX = 1000;
const NO_POLICY = { error: "must be a policy or null" };

/** Without duplicates. */
const subsetOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.array(oneOf(values), { error: `must be a list of ${values.join(", ")}` }).transform((items) => [...new Set(items)]);

export const guardrailsPolicyBody = z
  .object(
    {
      action: oneOf(GUARDRAIL_ACTIONS).default("block"),
      input_scanners: subsetOf(INPUT_SCANNERS).default([]),
      output_scanners: subsetOf(OUTPUT_SCANNERS).default([]),
      guard_model: blankIsNull(freeText(200)).default(null),
      ban_keywords: z
        .array(requiredText(200), { error: "must be a list of strings" })
        .max(KEYWORDS_MAX, `must have at most ${KEYWORDS_MAX} entries`)
        .transform((items) => [...new Set(items)])
        .default([]),
      fail_open: flag.default(true),
      scan_assistant: flag.default(false),
    },
    NO_POLICY,
  )
  .refine(
    (policy) =>
      policy.guard_model !== null ||
      !(policy.input_scanners.includes("harm") || policy.output_scanners.includes("harm")),
    {
      path: ["guard_model"],
      message: "is required when the scanner harm is listed",
      when: whenValid("guard_model", "input_scanners", "output_scanners"),
    },
  );

/** The fields that change in a policy. The verb validates the whole policy. */
export const guardrailsPolicyPatch = z
  .object(patchShape(guardrailsPolicyBody.shape), NO_POLICY)
  .meta({ id: "PatchGuardrailsPolicy" });

/** PATCH /tenants/{id}/guardrails */
export const tenantGuardrailsSchema = z
  .object({ policy: guardrailsPolicyPatch.nullable() })
  .meta({ id: "TenantGuardrails" });

export const compressionPolicyBody = z.object(
  {
    enabled: flag.default(false),
    code_compaction: flag.default(false),
    dedup: flag.default(false),
    allow_lossy: flag.default(false),
  },
  NO_POLICY,
);

export const compressionPolicyPatch = z
  .object(patchShape(compressionPolicyBody.shape), NO_POLICY)
  .meta({ id: "PatchCompressionPolicy" });

/** PATCH /tenants/{id}/compression */
export const tenantCompressionSchema = z
  .object({ policy: compressionPolicyPatch.nullable() })
  .meta({ id: "TenantCompression" });

/** PUT /tenants/{id}/tracing and PUT /keys/{id}/tracing */
export const tracingSchema = z.object({ tracing_enabled: flag }).meta({ id: "Tracing" });

/** PUT /tenants/{id}/synthetic */
export const tenantSyntheticSchema = z.object({ synthetic: flag }).meta({ id: "TenantSynthetic" });
