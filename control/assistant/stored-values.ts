/**
 * What the Management API makes of a body where that is not what stands in it (docs/rules/assistant.md#proposals): an empty list
 * that means every model, a 0 that keeps a number, a field that follows from another one. Pure. A test asks it of every field of
 * every write, against what the API then does (control/dashboard/assistant-every-write.test.ts).
 */
import type { z } from "zod";
import { changeChannelSchema, createChannelSchema } from "../../shared/schema/alert-channel.ts";
import { createKeySchema, updateKeySchema } from "../../shared/schema/api-key.ts";
import { createGroupSchema } from "../../shared/schema/fairshare.ts";
import { patchManagedModelSchema, putManagedModelSchema } from "../../shared/schema/managed-model.ts";
import { createMcpServerSchema, updateMcpServerSchema } from "../../shared/schema/mcp-server.ts";
import { createModelSchema, updateModelSchema } from "../../shared/schema/model.ts";
import { createModelEndpointSchema, updateModelEndpointSchema } from "../../shared/schema/model-endpoint.ts";
import { healthConfigSchema } from "../../shared/schema/model-health.ts";
import { createRecipeSchema, updateRecipeSchema } from "../../shared/schema/recipe.ts";
import { alertsBodySchema } from "../../shared/schema/settings/alerts.ts";
import { autoRouterBodySchema } from "../../shared/schema/settings/auto-router.ts";
import { boonsBodySchema } from "../../shared/schema/settings/boons.ts";
import { energyBodySchema } from "../../shared/schema/settings/energy.ts";
import { jobschedBodySchema } from "../../shared/schema/settings/jobsched.ts";
import {
  createTenantSchema,
  tenantAllowlistSchema,
  tenantBudgetSchema,
  tenantGroupSchema,
  tenantScheduleSchema,
  tenantStatusSchema,
  updateTenantSchema,
} from "../../shared/schema/tenant.ts";
import {
  compressionPolicyBody,
  guardrailsPolicyBody,
  tenantCompressionSchema,
  tenantGuardrailsSchema,
} from "../../shared/schema/tenant-policy.ts";
import { mergePatch } from "../kernel/merge-patch.ts";
import { dropUndefined } from "../kernel/parse.ts";
import { budgetColumns } from "../tenants/budget-columns.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Stands for the moment at which a call will be run. */
export const AT_RUN = Symbol("when it is run");

/** What one route makes of its body. */
interface Meaning {
  /** What it makes of each value; undefined: it keeps the stored one. Absent: each is stored as it is given. */
  readonly body?: z.ZodType;
  /** Fields that are objects: a member that is left out keeps its value. */
  readonly merged?: readonly string[];
  /** Fields of the record that follow from a body, in place of, or in addition to, what it says of them. A new record has nothing before. */
  readonly follows?: (body: Fields, before: Fields) => Fields;
}

const CAPS = ["budget_tokens", "budget_cost_usd", "budget_period"] as const;

const MEANINGS: Readonly<Record<string, Meaning>> = {
  "POST /tenants": { body: createTenantSchema, follows: budgetStart },
  "PUT /tenants/{id}": { body: updateTenantSchema },
  "PATCH /tenants/{id}/allowlist": { body: tenantAllowlistSchema },
  "PATCH /tenants/{id}/budget": { body: tenantBudgetSchema, follows: changedBudgetStart },
  "PATCH /tenants/{id}/compression": {
    body: tenantCompressionSchema,
    follows: mergedPolicy(compressionPolicyBody, "compression_policy"),
  },
  "PATCH /tenants/{id}/group": { body: tenantGroupSchema },
  "PATCH /tenants/{id}/guardrails": {
    body: tenantGuardrailsSchema,
    follows: mergedPolicy(guardrailsPolicyBody, "guardrails_policy"),
  },
  "PATCH /tenants/{id}/schedule": { body: tenantScheduleSchema },
  "PATCH /tenants/{id}/status": { body: tenantStatusSchema },
  "POST /tenants/{id}/keys": { body: createKeySchema, follows: budgetStart },
  "PUT /keys/{id}": { body: updateKeySchema, follows: changedBudgetStart },
  "POST /models": { body: createModelSchema },
  "PUT /models/{id}": {
    body: updateModelSchema,
    merged: ["health"],
    follows: credential("api_key", "api_key_set"),
  },
  "POST /models/{id}/endpoints": { body: createModelEndpointSchema },
  "PUT /models/{id}/endpoints/{endpoint_id}": {
    body: updateModelEndpointSchema,
    follows: credential("api_key", "api_key_set"),
  },
  "PUT /models/{id}/managed": { body: putManagedModelSchema },
  "PATCH /models/{id}/managed": { body: patchManagedModelSchema, follows: mergedSpec },
  "PUT /models/{id}/health/config": { body: healthConfigSchema },
  "POST /models/{id}/autotune/apply": {
    follows: ({ capacity_mode }) => ({ capacity_mode: capacity_mode ?? "tuned", capacity_tuned_at: AT_RUN }),
  },
  "POST /fairshare/groups": { body: createGroupSchema },
  "POST /mcp-servers": { body: createMcpServerSchema },
  "PUT /mcp-servers/{id}": { body: updateMcpServerSchema, follows: credential("auth_header", "auth_header_set") },
  "POST /recipes": { body: createRecipeSchema },
  "PUT /recipes/{id}": { body: updateRecipeSchema },
  "POST /alert-channels": { body: createChannelSchema },
  "PATCH /alert-channels/{id}": {
    body: changeChannelSchema,
    follows: (body, before) => ({
      ...keptWhenBlank("url", "url_set", "")(body, before),
      ...(body["recipients"] === null ? { recipients: before["recipients"] } : {}),
    }),
  },
  "PUT /settings/alerts": { body: alertsBodySchema, follows: alerts },
  "PUT /settings/auto-router": {
    body: autoRouterBodySchema,
    follows: ({ classifier_model }) => (classifier_model === null ? { classifier_enabled: false } : {}),
  },
  "PUT /settings/boons": { body: boonsBodySchema },
  "PUT /settings/energy": { body: energyBodySchema },
  "PUT /settings/jobsched": {
    body: jobschedBodySchema,
    follows: (body, before) => ({
      ...keptWhenBlank("token", "token_set", "clear_token")(body, before),
      ...(body["clear_token"] === true ? { token_last4: null } : {}),
    }),
  },
};

/**
 * The value that each field of `given` will have, and the fields that follow from it, whose values are those of the record.
 * `given` is a body with its defaults, `before` the record as it is; null: it is not known, or there is none yet.
 */
export function storedValues(
  route: string,
  given: Fields,
  before: Fields | null,
): { readonly named: Fields; readonly following: Fields } {
  const { body: schema, merged = [], follows } = MEANINGS[route] ?? {};
  const parsed = schema?.safeParse(given);
  // A body that the API will refuse is shown as it is.
  const made = parsed?.success === true ? (parsed.data as Fields) : given;
  const meant = Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      return [name, Object.hasOwn(made, name) ? made[name] : schema === undefined ? value : undefined];
    }),
  );
  const named = Object.fromEntries(
    Object.entries(meant).map(([name, value]) => {
      const now = before !== null && Object.hasOwn(before, name) ? before[name] : undefined;
      if (value === undefined) return [name, parsed?.success === true && now !== undefined ? now : given[name]];
      return [
        name,
        merged.includes(name) && isFields(now) && isFields(value) ? { ...now, ...dropUndefined(value) } : value,
      ];
    }),
  );
  const isKnown = parsed?.success !== false && (before !== null || route.startsWith("POST "));
  return { named, following: isKnown && follows !== undefined ? follows(meant, before ?? {}) : {} };
}

/** The same after some of its fields have changed; the others keep their values. */
function changedBudgetStart(body: Fields, before: Fields): Fields {
  if ([...CAPS, "budget_started_at"].every((name) => body[name] === undefined)) return {};
  return budgetStart(
    { ...Object.fromEntries(CAPS.map((name) => [name, before[name]])), ...dropUndefined(body) },
    before,
  );
}

/** The whole policy after a change of some of its fields. */
function mergedPolicy(schema: z.ZodType, field: string) {
  return ({ policy }: Fields, before: Fields): Fields => {
    const now = before[field];
    if (!isFields(policy)) return {};
    const whole = schema.safeParse({ ...(isFields(now) ? now : {}), ...dropUndefined(policy) });
    return whole.success ? { policy: whole.data } : {};
  };
}

/** The fields of a spec that a body names, after its merge into the spec. */
function mergedSpec(body: Fields, before: Fields): Fields {
  const whole = putManagedModelSchema.safeParse(mergePatch(before, body));
  const fields = Object.entries(whole.data ?? {});
  return Object.fromEntries(fields.filter(([name]) => Object.hasOwn(body, name)));
}

/** When a budget begins (control/tenants/budget-columns.ts). */
function budgetStart(wanted: Fields, before: Fields): Fields {
  const started = before["budget_started_at"];
  const atRun = new Date(Number.NaN);
  const { budget_started_at: start } = budgetColumns(
    wanted,
    typeof started === "string" ? new Date(started) : null,
    atRun,
  );
  return { budget_started_at: start === atRun ? AT_RUN : (start?.toISOString() ?? null) };
}

/** Whether there is a credential after a body in which a blank one removes it, and null keeps it. */
function credential(field: string, flag: string) {
  return (body: Fields): Fields => {
    const given = body[field];
    return typeof given === "string" ? { [flag]: given !== "" } : {};
  };
}

/** The same where a blank one keeps it, and another field removes it. */
function keptWhenBlank(field: string, flag: string, clear: string) {
  return (body: Fields, before: Fields): Fields => {
    const given = body[field];
    if (body[clear] === true) return { [flag]: false };
    return typeof given === "string" ? { [flag]: given.trim() !== "" || before[flag] } : {};
  };
}

/** The webhook, and the mail settings with what keeps its value, without their password. */
function alerts(body: Fields, before: Fields): Fields {
  const webhook = keptWhenBlank("slack_webhook_url", "slack_webhook_set", "clear_slack_webhook")(body, before);
  const { email: given, clear_smtp_password: clearAbove } = body;
  const now = before["email"];
  if (given === null || (given === undefined && (clearAbove !== true || !isFields(now)))) return webhook;
  const { smtp_password, clear_smtp_password, ...fields } = isFields(given) ? given : {};
  const base = isFields(now) ? now : { smtp_port: 587, username: "", starttls: true, password_set: false };
  const isCleared = clearAbove === true || clear_smtp_password === true;
  const password_set =
    !isCleared && ((typeof smtp_password === "string" && smtp_password !== "") || base["password_set"]);
  return { ...webhook, email: { ...base, ...dropUndefined(fields), password_set } };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
