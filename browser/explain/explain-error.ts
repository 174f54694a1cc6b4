/** Every error of the gateway in words: why, and what to do (docs/rules/errors.md). Pure. */
import type { ErrorCode } from "../../shared/errors.ts";
import { errorTexts } from "../messages/en/errors.ts";
import { texts } from "../messages/texts.ts";

const text = texts("errors", errorTexts);

/** The codes of the gateway's table, in its order: the table itself has statuses and messages too, which nobody reads here. */
const CODES = Object.keys(errorTexts).filter((name): name is ErrorCode => Object.hasOwn(errorTexts, `${name}_fix`));

/** An error as two sentences. */
interface ErrorExplanation {
  readonly why: string;
  readonly fix: string;
}

/** The two sentences of a code; null for a code that is not the gateway's, or of a newer version. */
export function explainError(code: string): ErrorExplanation | null {
  return isErrorCode(code) ? { why: text(code), fix: text(`${code}_fix`) } : null;
}

/** Codes that only the Management API answers with. */
const MANAGEMENT_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "address_blocked",
  "unknown_field",
  "unknown_fairshare_group",
  "no_alert_channel",
  "autotune_unsupported",
  "energy_test_failed",
  "jobsched_not_configured",
  "backup_format",
  "backup_key_mismatch",
  "backup_key_missing",
  "unauthorized",
  "not_found",
  "method_not_allowed",
  "already_exists",
  "autotune_running",
  "changed_meanwhile",
  "idempotency_key_reuse",
  "idempotency_in_progress",
  "cell_unreachable",
  "database_unavailable",
  "analytics_unavailable",
]);

/** Every code that a usage row can have, in the order of the table, and what stands for others: what a filter offers. */
export const ROW_ERROR_CODES: readonly string[] = [
  ...CODES.filter((code) => !MANAGEMENT_CODES.has(code)),
  "client_gone",
  "upstream_error",
];

/** A code in two or three words, for a cell of a table: `API key expired`. */
export function errorName(code: string): string {
  const words = (code === "client_gone" ? "client_disconnected" : code).replaceAll("_", " ");
  return words.replace(/^(api|mcp|.)/, (first) => first.toUpperCase());
}

/** True for a code of the gateway's own table. */
export function isErrorCode(code: string): code is ErrorCode {
  return (CODES as readonly string[]).includes(code);
}
