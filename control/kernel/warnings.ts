/**
 * Warnings of a write: what an admin should know of it besides that it was done. They are in its answer and in its audit entry,
 * and nowhere else.
 */

/** The record, with its warnings when there are any. */
export function withWarnings<T extends object>(record: T, warnings: readonly string[]): T {
  return warnings.length === 0 ? record : { ...record, warnings };
}

/** For the audit log, likewise. */
export function auditedWarnings(warnings: readonly string[]): { readonly warnings?: readonly string[] } {
  return warnings.length === 0 ? {} : { warnings };
}
