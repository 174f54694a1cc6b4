/**
 * Whether a text is harmful, by the tenant's guard model (docs/rules/guardrails.md#harm): a sub-call with its own row. The
 * answer of the model is text of another party: only its verdict is used.
 */
import { type ErrorCode, GatewayError } from "../../../shared/errors.ts";
import { RATE_NAMES, RATES } from "../../domain/budget/rates.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import type { Prepared } from "../call/known.ts";
import { currentModel, subCall } from "../sub-call.ts";

/** Only the end of a text is judged. */
const TEXT_MAX = 8000;
const TIMEOUT_MS = 5000;
const PROMPT = "You are a content safety classifier. Answer with exactly one word: SAFE or UNSAFE.";

/** `failed`: the model is unavailable, did not answer in time, or answered something else. */
type HarmVerdict = "safe" | "unsafe" | "failed";

/** A refusal by the budgets of a caller. */
const OF_BUDGETS: ReadonlySet<string> = new Set<ErrorCode>([
  ...RATE_NAMES.map((rate) => RATES[rate].code),
  "key_budget_exhausted",
  "tenant_budget_exhausted",
  "end_user_budget_exhausted",
  "budget_check_failed",
  "key_budget_check_failed",
  "request_larger_than_quota",
]);

/** The verdict on a text; a text without characters is safe. Throws ClientGone, and refusals by its budgets. */
export async function judgeHarm(call: Call, request: Prepared, guardModel: string, text: string): Promise<HarmVerdict> {
  if (text.trim() === "") return "safe";
  try {
    const model = await currentModel(call, guardModel);
    if (model === null) return "failed";
    const answer = await subCall(call, request, {
      requestType: "guardrails_boon",
      model,
      body: {
        messages: [
          { role: "system", content: PROMPT },
          { role: "user", content: endOf(text) },
        ],
        max_tokens: 10,
        temperature: 0,
      },
      timeoutMs: TIMEOUT_MS,
    });
    const said = answer.kind === "answered" && answer.status < 300 ? contentOf(answer.value).toUpperCase() : "";
    if (said.includes("UNSAFE")) return "unsafe";
    return said.includes("SAFE") ? "safe" : "failed";
  } catch (error) {
    if (error instanceof ClientGone || (error instanceof GatewayError && OF_BUDGETS.has(error.code))) throw error;
    return "failed";
  }
}

/** The end of a text, in whole characters. */
function endOf(text: string): string {
  const end = text.slice(-TEXT_MAX);
  return /^[\udc00-\udfff]/.test(end) ? end.slice(1) : end;
}

function contentOf(value: unknown): string {
  const { choices } = (value ?? {}) as { choices?: unknown };
  const [first] = Array.isArray(choices) ? (choices as unknown[]) : [];
  const { message } = (first ?? {}) as { message?: unknown };
  const { content } = (message ?? {}) as { content?: unknown };
  return typeof content === "string" ? content : "";
}
