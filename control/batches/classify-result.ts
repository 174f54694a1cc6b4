/** What the answer to a line means for it (docs/rules/batches.md#repeats). */
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { DATA_PLANE_ERRORS, errorBody } from "../../shared/errors.ts";
import { errorIn, type LineResult, type SentLine } from "./line-sender.ts";
import type { LineEnd } from "./line-store.ts";

/** A line is sent so many times in all; refusals that pass do not count. */
const TRIES_MAX = 5;
/** Refusals of the gateway that pass: nothing was called, and the line is sent again however often they come. */
const PASSING: ReadonlySet<string> = new Set<string>([
  ...Object.entries(DATA_PLANE_ERRORS).flatMap(([code, { status }]) => (status === 429 ? [code] : [])),
  "outside_access_window",
  "scheduler_unavailable",
  "key_store_unavailable",
  "identity_unavailable",
  "budget_check_failed",
  "key_budget_check_failed",
  "content_policy_unavailable",
  "gateway_stopping",
]);
/** A call that was called off, or an upstream that may do better. */
const FAILED_BY_CHANCE: ReadonlySet<number> = new Set([408, 409, 425, 429, 499]);

/** The status and the code of a line's result that the gateway makes itself. */
const ownError = (status: number, code: string, message: string) => ({
  status,
  answer: JSON.stringify({ error: { message, type: "upstream_error", code, param: null } }),
});
const TOO_LARGE = ownError(502, "answer_too_large", `the answer has more than ${LIMITS.batchAnswerBytes} bytes`);

/** `result` null: the line is over without an answer. */
export function classifyResult({ batchId, n, tries, requestId, cell }: SentLine, result: LineResult | null): LineEnd {
  const line = { batchId, n, tries, requestId, cell };
  if (result === null)
    return tries < TRIES_MAX
      ? { ...line, state: "waiting", status: null, answer: null }
      : { ...line, state: "failed", status: 500, answer: JSON.stringify(errorBody("internal_error")) };
  if (result.outcome === "too-large") return { ...line, state: "failed", ...TOO_LARGE };
  const { status } = result;
  const answer = result.text.replaceAll("\0", "\ufffd").toWellFormed();
  if (status >= 200 && status < 300) return { ...line, state: "completed", status, answer };
  // an upstream may answer with the same codes
  if (result.outcome === "refused" && PASSING.has(errorIn(answer).code))
    return { ...line, tries: tries - 1, state: "waiting", status, answer };
  const mayRepeat = (status >= 500 || FAILED_BY_CHANCE.has(status)) && tries < TRIES_MAX;
  return { ...line, state: mayRepeat ? "waiting" : "failed", status, answer };
}
