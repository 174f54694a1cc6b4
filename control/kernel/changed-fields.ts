/**
 * The audit detail of an update: `{"changed": {field: [old, new]}}`, secrets as `"changed"`
 * (docs/rules/management-api.md#audit-log).
 */

/** Fields of `after` that differ from `before`. */
export function changedFields(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  secrets: readonly string[] = [],
): { readonly changed: Record<string, unknown> } {
  const changed: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(after)) {
    if (field === "rev" || field === "updated_at") continue;
    if (JSON.stringify(before[field] ?? null) === JSON.stringify(value ?? null)) continue;
    changed[field] = secrets.includes(field) ? "changed" : [before[field] ?? null, value ?? null];
  }
  return { changed };
}
