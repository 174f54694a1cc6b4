/** Every error of the gateway in words: why, and what to do (docs/rules/errors.md). Pure. */
import { ERROR_TABLE, type ErrorCode } from "../../shared/errors.ts";
import { errorTexts } from "../messages/en/errors.ts";
import { texts } from "../messages/texts.ts";

const text = texts("errors", errorTexts);

/** An error as two sentences. */
interface ErrorExplanation {
  readonly why: string;
  readonly fix: string;
}

/** The two sentences of a code; null for a code that is not the gateway's, or of a newer version. */
export function explainError(code: string): ErrorExplanation | null {
  return isErrorCode(code) ? { why: text(code), fix: text(`${code}_fix`) } : null;
}

/** True for a code of the gateway's own table. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_TABLE, code);
}
