/**
 * The audit detail of an update: `{"changed": {field: [old, new]}}`, secrets as `"changed"`, and of long lists what was taken out
 * and added (docs/rules/management-api.md#audit-log). Entries stay for good, and a list may have hundreds of KB.
 */

/** Of the JSON of a list that is shown whole, and of what is shown of a longer one. */
const LIST_MAX_BYTES = 4096;

/** Fields of `after` that differ from `before`. */
export function changedFields(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  secrets: readonly string[] = [],
): { readonly changed: Record<string, unknown> } {
  const changed: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(after)) {
    if (field === "rev" || field === "updated_at") continue;
    const [old, fresh] = [before[field] ?? null, value ?? null];
    if (JSON.stringify(old) === JSON.stringify(fresh)) continue;
    changed[field] = secrets.includes(field) ? "changed" : [shown(old, fresh, "removed"), shown(fresh, old, "added")];
  }
  return { changed };
}

/** The value with what only it has of its long lists. */
function shown(value: unknown, other: unknown, own: "removed" | "added"): unknown {
  if (Array.isArray(value)) return shownList(value, Array.isArray(other) ? other : [], own);
  if (!isRecord(value)) return value;
  const others = isRecord(other) ? other : {};
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shown(member, others[name], own)]));
}

function shownList(list: readonly unknown[], other: readonly unknown[], own: "removed" | "added"): unknown {
  if (bytesOf(list) <= LIST_MAX_BYTES) return list;
  const others = new Set(other.map((each) => JSON.stringify(each)));
  const differing = list.filter((each) => !others.has(JSON.stringify(each)));
  let bytes = 0;
  const fitting = differing.filter((each) => {
    bytes += bytesOf(each) + 1;
    return bytes <= LIST_MAX_BYTES;
  });
  return { count: list.length, [own]: fitting, more: differing.length - fitting.length };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Not a time. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
