/**
 * Values that an answer holds before they are validated. The first load validates its two small answers with these instead of
 * a schema library, which pages with forms load.
 */

/** The fields of an object of JSON; none of anything else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** What the answer to a write warns of, each as a sentence; none where it says nothing. */
export function warningsOf(answer: unknown): readonly string[] {
  const { warnings } = fieldsOf(answer);
  return Array.isArray(warnings) ? warnings.filter((warning): warning is string => typeof warning === "string") : [];
}

/** The header of a write that is done only while the record is as it was read; none where it has no revision. */
export interface IfMatch {
  readonly "if-match"?: string;
}

export function ifMatch(read: unknown): IfMatch {
  const { rev } = fieldsOf(read);
  return typeof rev === "number" ? { "if-match": `"${rev}"` } : {};
}

/** The value where it is a text; else null. */
export function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
