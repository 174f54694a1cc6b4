/**
 * Keeps the answer of a line of a batch before the line is settled (docs/rules/batches.md#exactly-once): should the control service
 * end meanwhile, it asks for the answer instead of sending the line again.
 */
import { type AnswerStage, bodyOfBytes, collectAnswer } from "../call/boon/answer-stage.ts";
import type { Call } from "../call/context.ts";

/** The store takes no more than 256 Ki characters of up to 3 bytes. */
const KEPT_MAX_BYTES = 768 * 1024;

/** The last stage of a line's answer; none for any other call. */
export function keepAnswer(call: Call): readonly AnswerStage[] {
  if (call.line === undefined) return [];
  return [
    async (answer, report) => {
      const collected = await collectAnswer(call, answer.body, report, {
        maxBytes: KEPT_MAX_BYTES,
        memory: call.memory.keptLineMemory,
      });
      if (collected.kind === "too-large") return { ...answer, body: collected.body };
      const { bytes } = collected;
      await call.ports.lineAnswers.keep(call.requestId, {
        status: answer.status,
        text: new TextDecoder().decode(bytes),
      });
      return { ...answer, body: bodyOfBytes(bytes) };
    },
  ];
}
