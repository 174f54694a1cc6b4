/**
 * The answer of a request with a tool loop (docs/rules/tool-loop.md#answers): the first turn's answer goes in, and the client's
 * answer for all turns comes out, as one completion or as one stream.
 */
import { GatewayError } from "../../../../shared/errors.ts";
import { type Completion, finalCompletion, readCompletion } from "../../../domain/tools/completion.ts";
import { sumUsage } from "../../../domain/tools/usage-sum.ts";
import { parsedInSteps } from "../../../domain/wire/json/parse-in-steps.ts";
import { writtenInSteps } from "../../../domain/wire/json/write-in-steps.ts";
import { type AnswerReport, bodyOfBytes, collectAnswer, type StagedAnswer } from "../../call/boon/answer-stage.ts";
import { ClientGone } from "../../call/client-gone.ts";
import { inTurns } from "../../call/in-turns.ts";
import { isEventStream } from "../../reply/response-headers.ts";
import { composedStream } from "./composed-stream.ts";
import type { ToolLoop } from "./tool-loop.ts";

/** The client's answer. Throws GatewayError when a later turn cannot be had, and ClientGone. */
export async function loopedAnswer(loop: ToolLoop, answer: StagedAnswer, report: AnswerReport): Promise<StagedAnswer> {
  report.onEnd(() => loop.close());
  if (isEventStream(answer.contentType)) return { ...answer, body: composedStream(loop, answer.body, report) };
  return await loopedCompletion(loop, answer, report);
}

async function loopedCompletion(loop: ToolLoop, answer: StagedAnswer, report: AnswerReport): Promise<StagedAnswer> {
  let first: Completion | null = null;
  let usage = null;
  for (let current = answer; ; ) {
    const collected = await collectAnswer(loop.call, current.body, report).catch((error: unknown) => {
      // The first answer is the request's own, whose end is decided below this stage.
      if (current === answer) throw error;
      throw loop.call.request.signal.aborted ? new ClientGone() : new GatewayError("upstream_failed", { cause: error });
    });
    if (collected.kind === "too-large") {
      report.warn("response_too_large");
      return { ...current, body: collected.body };
    }
    const asItCame = { ...current, body: bodyOfBytes(collected.bytes) };
    const document = await inTurns(loop.call, parsedInSteps(new TextDecoder().decode(collected.bytes)));
    const completion = readCompletion(document);
    if (completion === null) return asItCame;
    first ??= completion;
    usage = sumUsage(usage, loop.believed(completion.root["usage"], collected.bytes.byteLength));
    const decision = await loop.decide(completion.turn);
    if (decision.kind === "final") {
      const changed = completion !== first || decision.removed;
      const { toolCalls } = decision;
      if (!changed) return asItCame;
      const final = finalCompletion(first, completion, { toolCalls, usage });
      return { ...current, body: bodyOfBytes(await inTurns(loop.call, writtenInSteps(final))) };
    }
    await loop.run(completion.turn, decision);
    const next = await loop.nextTurn();
    current = {
      // A later 2xx continues the first answer: one without a body would be another kind of answer.
      status: next.ok ? answer.status : next.status,
      contentType: next.headers.get("content-type") ?? "application/json",
      coding: next.headers.get("content-encoding"),
      retryAfter: next.headers.get("retry-after"),
      body: next.body ?? bodyOfBytes(new Uint8Array(0)),
    };
    // An error of a later turn is the client's answer, as an error of the first one would be.
    if (!next.ok) {
      loop.failed();
      return current;
    }
  }
}
