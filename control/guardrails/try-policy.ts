/**
 * Tries a guardrails policy on a text with the scanners of the data plane (docs/rules/guardrails.md#trials). Nothing is
 * stored, audited or logged.
 */
import { compileScan, type TextScanner } from "../../shared/guardrails/text-scan.ts";
import { type GuardrailsVerdict, guardrailsTrialSchema } from "../../shared/schema/guardrails.ts";
import { parse } from "../kernel/parse.ts";

/** What the policy finds in the text, and does with it on either side. Throws 400 for a malformed body. */
export function tryPolicy(input: unknown): GuardrailsVerdict {
  const { text, policy } = parse(guardrailsTrialSchema, input);
  const { action, input_scanners, output_scanners, ban_keywords: banKeywords } = policy;
  const scanners = [...new Set([...input_scanners, ...output_scanners])].filter(isTextScanner);
  const scan = compileScan({ scanners, banKeywords });
  const matches = scan.scanTexts([{ text, user: true }]);
  const outcomeOf = (listed: readonly string[]): GuardrailsVerdict["input"] => {
    const found = matches.filter(({ scanner }) => listed.includes(scanner));
    if (found.length === 0) return "pass";
    if (action === "log_only") return "log";
    return action === "block" || found.some(({ scanner }) => scanner === "prompt_injection") ? "block" : "redact";
  };
  return {
    action,
    matches: matches.flatMap(({ scanner, label, spans }) =>
      spans.map(({ start, end }) => ({ scanner, label, start, end })),
    ),
    input: outcomeOf(input_scanners),
    output: outcomeOf(output_scanners),
    redacted: action === "redact" ? (scan.redactTexts([{ text, user: true }]).texts[0] ?? text) : text,
    harm: input_scanners.includes("harm") || output_scanners.includes("harm") ? "not_run" : "not_listed",
  };
}

function isTextScanner(scanner: TextScanner | "harm"): scanner is TextScanner {
  return scanner !== "harm";
}
