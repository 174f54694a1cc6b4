/** What an entry of the audit log tells, field by field (docs/rules/management-api.md#audit-log). Pure. */

/** A field that has changed; a secret's values are never known. */
type FieldDifference =
  | { readonly field: string; readonly isSecret: false; readonly before: unknown; readonly after: unknown }
  | { readonly field: string; readonly isSecret: true };

interface EntryDetail {
  readonly differences: readonly FieldDifference[];
  /** What else is told, such as the name of what was created. */
  readonly facts: readonly (readonly [name: string, value: unknown])[];
}

/** Objects within objects are compared by their members this deep; what lies deeper is compared whole. */
const DEPTH_MAX = 3;
/** More fields than a record has; only a hostile entry could have more. */
const DIFFERENCES_MAX = 500;

/** Differences and facts of a detail, whatever it holds. */
export function entryDetail(detail: Readonly<Record<string, unknown>>): EntryDetail {
  const { changed, ...rest } = detail;
  const differences = isObject(changed)
    ? Object.entries(changed).flatMap(([field, change]) => differencesOf(field, change))
    : [];
  return {
    differences: differences.slice(0, DIFFERENCES_MAX),
    facts: Object.entries(isObject(changed) || changed === undefined ? rest : detail),
  };
}

function differencesOf(field: string, change: unknown): readonly FieldDifference[] {
  if (!Array.isArray(change) || change.length !== 2) return [{ field, isSecret: true }];
  const [before, after]: readonly unknown[] = change;
  return byMembers(field, before, after, 0);
}

/** Objects are compared by their members, so that a policy shows what of it has changed. */
function byMembers(field: string, before: unknown, after: unknown, depth: number): readonly FieldDifference[] {
  if (depth >= DEPTH_MAX || !isObject(before) || !isObject(after))
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ field, isSecret: false, before, after }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    byMembers(`${field}.${name}`, memberOf(before, name), memberOf(after, name), depth + 1),
  );
}

function memberOf(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
