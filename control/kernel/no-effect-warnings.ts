/**
 * What can be configured and has no effect yet. Whoever configures it is told so in the answer; nothing is refused. The change
 * that builds a capability removes its function here, and the last one this file.
 */
import type { z } from "zod";
import type { compressionPolicySchema, guardrailsPolicySchema } from "../../shared/records.ts";

const GUARDRAILS = "guardrails have no effect yet: the policy is stored, and nothing is scanned, blocked or redacted";
const COMPRESSION = "compression has no effect yet: the policy is stored, and requests go upstream as they are";
const BOONS = "boons have no effect yet: what is switched on is stored, and requests go upstream as they are";
const TOOL_SERVERS = "tool servers have no effect yet: they are stored, and no tools are added to requests";
const AUTO_ROUTER = "auto routing has no effect yet: the settings are stored, and no model answers to the name auto";
const ASSISTANT = "the assistant has no effect yet: the settings are stored, and nobody can ask it";
const PROVISIONER = "the provisioner has no effect yet: the settings are stored, and no jobs are started";

/** Of a guardrails policy that asks for a scan. */
export function guardrailsWarnings(policy: z.infer<typeof guardrailsPolicySchema> | null): readonly string[] {
  const scanners = policy === null ? 0 : policy.input_scanners.length + policy.output_scanners.length;
  return scanners === 0 ? [] : [GUARDRAILS];
}

/** Of a compression policy that is on. */
export function compressionWarnings(policy: z.infer<typeof compressionPolicySchema> | null): readonly string[] {
  return policy?.enabled === true ? [COMPRESSION] : [];
}

/** Of a body that gives a model boons or tool servers. */
export function modelFeatureWarnings(body: {
  readonly boons?: readonly string[] | undefined;
  readonly tool_servers?: readonly string[] | undefined;
}): readonly string[] {
  const { boons = [], tool_servers = [] } = body;
  return [...(boons.length === 0 ? [] : [BOONS]), ...(tool_servers.length === 0 ? [] : [TOOL_SERVERS])];
}

/** Of a body that switches a boon on for all. */
export function boonsWarnings(body: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(body).some(([field, value]) => field.endsWith("_enabled") && value === true) ? [BOONS] : [];
}

/** Of a body that switches the auto router's classifier on. */
export function autoRouterWarnings(body: { readonly classifier_enabled?: boolean | undefined }): readonly string[] {
  return body.classifier_enabled === true ? [AUTO_ROUTER] : [];
}

/** Of a body that switches the provisioner on. */
export function provisionerWarnings(body: { readonly enabled?: boolean | undefined }): readonly string[] {
  return body.enabled === true ? [PROVISIONER] : [];
}

/** Of a body that switches the assistant on. */
export function assistantWarnings(body: { readonly enabled?: boolean | undefined }): readonly string[] {
  return body.enabled === true ? [ASSISTANT] : [];
}
