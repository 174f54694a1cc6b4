/**
 * Warnings of a write that was done: what an admin should know about it. They appear only in its answer and in its
 * audit entry.
 */

/** The record, with its warnings when there are any. */
export function withWarnings<T extends object>(record: T, warnings: readonly string[]): T {
  return warnings.length === 0 ? record : { ...record, warnings };
}

/** The warnings as a part of the audit entry, when there are any. */
export function auditedWarnings(warnings: readonly string[]): { readonly warnings?: readonly string[] } {
  return warnings.length === 0 ? {} : { warnings };
}
