/**
 * The structured output boon: JSON, by a schema or not, from a model that cannot guarantee it. The model gets instructions, its
 * answer is held, checked and repaired, and a streaming client gets a newly written stream
 * (docs/rules/boons.md#structured-output).
 */

import type { Steps } from "../../../shared/steps.ts";
import { type ChoiceText, choiceTextsOf, withContents } from "../../domain/json-schema/check-completion.ts";
import { type CheckedText, checkText } from "../../domain/json-schema/check-value.ts";
import { instructionFor, type RequestedFormat, requestedFormatOf } from "../../domain/json-schema/requested-format.ts";
import { withSystemText } from "../../domain/request/system-text.ts";
import { jsonObjectOf } from "../../domain/wire/json/document.ts";
import { parsedInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import { writtenInSteps } from "../../domain/wire/json/write-in-steps.ts";
import { synthesizeStream } from "../../domain/wire/sse/synthesize-stream.ts";
import { type AnswerReport, bodyOfBytes, collectAnswer, type StagedAnswer } from "../call/boon/answer-stage.ts";
import type { Boon, BoonWork } from "../call/boon/boon.ts";
import { ClientGone } from "../call/client-gone.ts";
import { inTurns } from "../call/in-turns.ts";
import { Repairer } from "./repair.ts";

const FAILED = "structured_output_validation_failed";
/** The answer is larger than may be held (docs/rules/streams.md#buffered-answers). */
const TOO_LARGE = "response_too_large";

/** Most choices of one answer that are repaired: a client may ask for a thousand. */
const REPAIRED_CHOICES_MAX = 8;

export const structuredOutput: Boon = {
  name: "structured_output",
  apply: async (work) => {
    const { call, draft, settings } = work;
    const { model, parsed } = work.request;
    const listed = settings.structured_output_enabled && model.boons.includes("structured_output");
    if (!listed || model.supports.response_schema) return null;
    const asked = parsed.document.root["response_format"];
    const format = await inTurns(call, requestedFormatOf(draft.isLarge ? asked : await draft.get("response_format")));
    if (format === null) return null;
    if (draft.isLarge) return { applied: false, warnings: [FAILED], answer: null };
    const messages = withSystemText(
      await draft.get("messages"),
      instructionFor(format),
      model.supports.system_messages,
    );
    if (messages === null) return null;
    const streamed = parsed.stream ? streamOptionsOf(await draft.get("stream_options")) : null;
    draft.set("messages", messages);
    draft.set("response_format", undefined);
    if (streamed !== null) {
      draft.set("stream", false);
      draft.set("stream_options", undefined);
    }
    const answer = async (given: StagedAnswer, report: AnswerReport): Promise<StagedAnswer> =>
      await checkedAnswer(given, report, { work, format, asked, streamed });
    return { applied: true, warnings: [], answer };
  },
};

/** How the client gets its answer. */
interface Wanted {
  readonly work: BoonWork;
  readonly format: RequestedFormat;
  /** The `response_format` that asks for it. */
  readonly asked: unknown;
  /** Null: as JSON. */
  readonly streamed: { readonly includeUsage: boolean } | null;
}

function streamOptionsOf(options: unknown): Wanted["streamed"] {
  return { includeUsage: jsonObjectOf(options)?.["include_usage"] === true };
}

/** The answer as the client wants it; when that cannot be had, as the model gave it, with a warning. */
async function checkedAnswer(given: StagedAnswer, report: AnswerReport, wanted: Wanted): Promise<StagedAnswer> {
  const collected = await collectAnswer(wanted.work.call, given.body, report);
  if (collected.kind === "too-large") {
    report.warn(TOO_LARGE);
    return { ...given, body: collected.body };
  }
  const { call } = wanted.work;
  const completion = jsonObjectOf(await inTurns(call, parsedInSteps(new TextDecoder().decode(collected.bytes))));
  const texts = choiceTextsOf(completion);
  if (completion === null || texts === null) {
    report.warn(FAILED);
    return { ...given, body: bodyOfBytes(collected.bytes) };
  }
  const reported = jsonObjectOf(completion["usage"])?.["completion_tokens"];
  const answerTokens = Number.isSafeInteger(reported) ? Number(reported) : null;
  const checked = await checkedTexts(texts, { ...wanted, answerTokens });
  if (checked.some((text, at) => text === null && texts[at]?.kind !== "passes")) report.warn(FAILED);
  const changed = checked.some((text, at) => text !== null && text !== said(texts[at]));
  const result = changed ? withContents(completion, checked) : completion;
  const stream = wanted.streamed === null ? null : await inTurns(call, synthesizeStream(result, wanted.streamed));
  if (stream !== null) return { ...given, contentType: "text/event-stream", body: bodyOfBytes(stream) };
  const bytes = changed ? await inTurns(call, writtenInSteps(result)) : collected.bytes;
  return { ...given, body: bodyOfBytes(bytes) };
}

/** The JSON of each choice; null: the choice stays unchanged. Throws ClientGone. */
async function checkedTexts(
  texts: readonly ChoiceText[],
  { work, format, asked, answerTokens }: Wanted & { readonly answerTokens: number | null },
): Promise<readonly (string | null)[]> {
  const { validateSchema } = work.call.ports;
  const check = function* (): Steps<readonly (CheckedText | null)[]> {
    const verdicts: (CheckedText | null)[] = [];
    for (const text of texts)
      verdicts.push(text.kind === "text" ? yield* checkText(text.text, format, validateSchema) : null);
    return verdicts;
  };
  const checked = await inTurns(work.call, check());
  const broken = checked.flatMap((verdict, at) =>
    verdict?.kind === "invalid" ? [{ at, text: said(texts[at]), problems: verdict.problems }] : [],
  );
  const chosen = broken.slice(0, REPAIRED_CHOICES_MAX);
  const repaired = new Map<number, string | null>();
  if (chosen.length > 0) {
    const found = await new Repairer(work, { format, asked, answerTokens })
      .repairAll(chosen)
      .catch((error: unknown) => {
        if (error instanceof ClientGone) throw error;
        return [];
      });
    for (const [nth, { at }] of chosen.entries()) repaired.set(at, found[nth] ?? null);
  }
  return checked.map((verdict, at) => (verdict?.kind === "valid" ? verdict.text : (repaired.get(at) ?? null)));
}

function said(text: ChoiceText | undefined): string {
  return text?.kind === "text" ? text.text : "";
}
