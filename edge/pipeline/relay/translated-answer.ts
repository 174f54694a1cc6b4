/**
 * The answer of an upstream that speaks another API, as the client's API has it (docs/rules/upstream-calls.md#translated-calls).
 * It is the first stage of the answer: usage is read below it, and everything above it sees the client's API only.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { Steps } from "../../../shared/steps.ts";
import type { StreamTranslation, Translation } from "../../domain/dialect/contract.ts";
import { clientStatus } from "../../domain/usage/billing.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";
import { isJsonObject } from "../../domain/wire/json/document.ts";
import { parsedInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import { type TakeBytes, writtenInSteps } from "../../domain/wire/json/write-in-steps.ts";
import type { ResponseTransform } from "../../domain/wire/sse/response-transform.ts";
import { SseFilter } from "../../domain/wire/sse/sse-filter.ts";
import { type AnswerStage, bodyOfBytes, collectAnswer } from "../call/boon/answer-stage.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import type { MemoryReservation } from "../call/memory/memory-budget.ts";
import { WrittenMemory } from "../call/memory/written-memory.ts";
import type { UpstreamAnswer } from "../forward/attempt.ts";
import { beginningOf, LOOK_MAX_BYTES } from "../forward/look-at-answer.ts";
import { noMemory } from "../forward/translated-call.ts";
import { isEventStream } from "../reply/response-headers.ts";

const JSON_TYPE = "application/json";
const NOTHING = new Uint8Array(0);
const encoder = new TextEncoder();

/** Receives the fault of the stream, if it is known. */
type Broken = (fault: string | null) => void;

/**
 * The stage of a 2xx. A document that cannot be read is `upstream_failed`. `onBroken` is called when a stream is not of its API,
 * or ends before its own end.
 */
export function translationStage(call: Call, translation: Translation, onBroken: Broken): AnswerStage {
  return async (answer, report) => {
    const writing = new WrittenMemory(call.memory.answerMemory, () => noMemory("the answer"));
    report.onEnd(() => writing.close());
    if (!answer.coding && isEventStream(answer.contentType)) {
      const kept = call.memory.answerMemory.open();
      report.onEnd(() => kept.close());
      return { ...answer, body: translatedStream(call, answer.body, translation, { kept, writing }, onBroken) };
    }
    const collected = await collectAnswer(call, answer.body, report);
    const bytes = collected.kind === "whole" && !answer.coding ? collected.bytes : null;
    if (collected.kind === "too-large") {
      await collected.body.cancel().catch(() => undefined);
      if (collected.noMemory) throw noMemory("the answer");
    }
    if (bytes === null) throw unreadable(answer.coding ? `is in the coding ${answer.coding}` : "is too large");
    const document = await inTurns(call, translatedDocument(bytes, translation, writing.take));
    return { ...answer, contentType: JSON_TYPE, body: bodyOfBytes(document) };
  };
}

function* translatedDocument(bytes: Uint8Array, translation: Translation, take: TakeBytes): Steps<Uint8Array> {
  const value = yield* parsedInSteps(new TextDecoder().decode(bytes));
  if (!isJsonObject(value)) throw unreadable("is not a JSON object");
  return yield* writtenInSteps(yield* translation.answer(value, take), take);
}

function unreadable(reason: string): GatewayError {
  return new GatewayError("upstream_failed", { cause: `the answer cannot be translated: it ${reason}` });
}

/** Each event is sent as soon as it is complete. A body that is not an event stream, or ends before its own end, breaks off. */
function translatedStream(
  call: Call,
  body: ReadableStream<Uint8Array>,
  translation: Translation,
  { kept, writing }: { readonly kept: MemoryReservation; readonly writing: WrittenMemory },
  onBroken: Broken,
): ReadableStream<Uint8Array> {
  const stream = translation.stream(writing.take);
  const filter = new SseFilter([eventsOf(stream, writing.take)], true);
  const reader = body.getReader();
  let keptBytes = 0;
  const keep = (): void => {
    const grownBytes = Math.max(stream.keptBytes - keptBytes, 0);
    if (!kept.grow(grownBytes)) throw noMemory("the answer");
    keptBytes += grownBytes;
  };
  const rest = function* (): Steps<Uint8Array> {
    const last = yield* filter.finishing();
    return concat([last, written(stream, stream.end())]);
  };
  return new ReadableStream(
    {
      pull: async (controller) => {
        try {
          for (;;) {
            const { done, value } = await reader.read();
            const bytes = await inTurns(call, done ? rest() : filter.pushing(value));
            keep();
            if (bytes.byteLength > 0) controller.enqueue(bytes);
            writing.passOn();
            if (done) controller.close();
            if (done || bytes.byteLength > 0) return;
          }
        } catch (error) {
          if (stream.isBroken) onBroken(stream.fault ?? null);
          await reader.cancel(error).catch(() => undefined);
          throw error;
        }
      },
      cancel: async (reason) => await reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

const LINE_END = /\r\n|\n|\r/;

function eventsOf(stream: StreamTranslation, take: TakeBytes): ResponseTransform {
  return {
    concerns: () => true,
    event: function* (bytes): Steps<Uint8Array> {
      let name: string | null = null;
      const data: string[] = [];
      for (const line of new TextDecoder().decode(bytes).split(LINE_END)) {
        if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
        else if (line.startsWith("event:")) name = line.slice("event:".length).trim();
      }
      const events = written(stream, data.length === 0 ? "" : yield* stream.event(name, data.join("\n")));
      take(events.byteLength);
      return events;
    },
  };
}

/** The events as bytes. The relay ends a broken stream, so it must know of the break. */
function written({ isBroken, fault }: StreamTranslation, events: string): Uint8Array {
  if (isBroken) throw unreadable(fault ?? "is not a complete stream of the model's API");
  return encoder.encode(events);
}

/** A refusal of the upstream. Only the start of a long one is read, which then says nothing. */
export async function translatedRefusal(
  call: Call,
  answer: UpstreamAnswer,
  translation: Translation,
): Promise<UpstreamAnswer> {
  const { response, cancellation } = answer;
  const { status } = response;
  const begun = await beginningOf(response, LOOK_MAX_BYTES, call.memory.answerMemory, cancellation.idle).catch(
    () => null,
  );
  response.body?.cancel().catch(() => undefined);
  const text = new TextDecoder().decode(concat([answer.head, begun?.head ?? NOTHING]));
  const said = await inTurns(call, parsedInSteps(text));
  const headers = new Headers(response.headers);
  for (const name of ["content-length", "content-encoding", "transfer-encoding"]) headers.delete(name);
  headers.set("content-type", JSON_TYPE);
  const head = new Uint8Array(encoder.encode(JSON.stringify(translation.error(clientStatus(status), said))));
  return { ...answer, response: new Response("", { status, headers }), head };
}
