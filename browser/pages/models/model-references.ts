/** What names a model, and would stop working without it. Pure. */
import type { Records } from "../../data/api.ts";

type Tenant = Pick<Records["Tenant"], "name" | "allowed_models" | "guardrails_policy">;
type Key = Pick<Records["ListedApiKey"], "name" | "key_prefix" | "allowed_models">;

/** The settings that name a model, by their field. */
const NAMING_SETTINGS = [
  "vision_fallback_model",
  "structured_output_fixer_model",
  "classifier_model",
  "brain_model",
] as const;

interface References {
  /** Tenants and keys that may use no other model. */
  readonly only: readonly string[];
  /** Tenants and keys that have it among others in a list of allowed models. */
  readonly allowed: readonly string[];
  /** Tenants whose texts it judges for harm. */
  readonly guard: readonly string[];
  readonly settings: readonly (typeof NAMING_SETTINGS)[number][];
}

/** Everything that names the model, of what was read. */
export function referencesTo(
  modelName: string,
  tenants: readonly Tenant[],
  keys: readonly Key[],
  settings: Readonly<Record<string, unknown>>,
): References {
  const listed = [
    ...tenants.map(({ name, allowed_models }) => ({ name, allowed: allowed_models ?? [] })),
    ...keys.map(({ name, key_prefix, allowed_models }) => ({
      name: name || key_prefix,
      allowed: allowed_models ?? [],
    })),
  ].filter(({ allowed }) => allowed.includes(modelName));
  return {
    only: listed.filter(({ allowed }) => allowed.length === 1).map(({ name }) => name),
    allowed: listed.filter(({ allowed }) => allowed.length > 1).map(({ name }) => name),
    guard: tenants.filter(({ guardrails_policy: policy }) => policy?.guard_model === modelName).map(({ name }) => name),
    settings: NAMING_SETTINGS.filter((field) => Object.hasOwn(settings, field) && settings[field] === modelName),
  };
}
