/** The details of an entry of the audit log with what objects are called in place of their ids. Pure. */
import type { ObjectNames } from "./audit-words.tsx";

/** An id whose object has no name, or is not known, stays. */
export function withNames(
  detail: Readonly<Record<string, unknown>>,
  names: ObjectNames,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(detail).map(([field, value]) => [field, named(value, names)]));
}

function named(value: unknown, names: ObjectNames): unknown {
  if (typeof value === "string") return names.get(value) || value;
  if (Array.isArray(value)) return value.map((one: unknown) => named(one, names));
  return typeof value === "object" && value !== null ? withNames(value as Record<string, unknown>, names) : value;
}
