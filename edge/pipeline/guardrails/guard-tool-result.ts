/**
 * The result of a tool that the gateway called itself: it is input of the model like a prompt, and comes from a party that
 * nobody checks (docs/rules/guardrails.md#tool-results).
 */
import type { OpenSpan } from "../../domain/trace/trace.ts";
import type { Call } from "../call/context.ts";
import { type Guards, guardsOf } from "../call/guards.ts";
import type { Prepared } from "../call/known.ts";
import { withSpan } from "../report/spans.ts";
import { BLOCKED_RESULT } from "./guard-input.ts";
import { runScan } from "./run-scan.ts";

/**
 * The result as the model may see it by the tenant's input guardrails: unchanged, redacted, or an error in its place.
 * Throws ClientGone.
 */
export async function guardToolResult(call: Call, request: Prepared, text: string): Promise<string> {
  const guards = guardsOf(request.principal.tenant, "input");
  if (guards === null) return text;
  return await withSpan(
    call,
    "boon:guardrails_input",
    async (span) => await guarded(call, request, guards, text, span),
  );
}

async function guarded(call: Call, request: Prepared, guards: Guards, text: string, span: OpenSpan): Promise<string> {
  const texts = [{ text, user: false }];
  const { blocked, unjudged } = await runScan(call, request, {
    side: "input",
    guards,
    span,
    find: () => ({ matches: guards.scan.scanTexts(texts) }),
    harmText: () => text,
  });
  if (blocked || unjudged) return BLOCKED_RESULT;
  return guards.action === "redact" ? (guards.scan.redactTexts(texts).texts[0] ?? text) : text;
}
