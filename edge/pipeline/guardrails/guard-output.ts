/**
 * The output guardrails of the tenant: the last stage of an answer (docs/rules/guardrails.md#actions). `block` holds the whole
 * answer, so that a blocked one is a real error; `redact` holds back only text that may still become a match; `log_only` holds
 * nothing back and examines a copy when the answer has ended.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { ScanMatch, ScannedText, ScanRoom } from "../../../shared/guardrails/text-scan.ts";
import type { Steps } from "../../../shared/steps.ts";
import { CHARACTER_BYTES } from "../../domain/dialect/values.ts";
import { CollectedTexts } from "../../domain/message-texts/collected-texts.ts";
import { RedactingEvents, redactDocument } from "../../domain/message-texts/redacting-events.ts";
import { RedactionTally } from "../../domain/message-texts/text-redaction.ts";
import type { OpenSpan } from "../../domain/trace/trace.ts";
import { concat, joined } from "../../domain/wire/bytes/byte-pieces.ts";
import type { TakeBytes } from "../../domain/wire/json/write-in-steps.ts";
import { SseFilter } from "../../domain/wire/sse/sse-filter.ts";
import {
  type AnswerReport,
  type AnswerStage,
  bodyOfBytes,
  collectAnswer,
  type StagedAnswer,
} from "../call/boon/answer-stage.ts";
import { type Call, OnceLatch } from "../call/context.ts";
import { type Guards, guardsOf } from "../call/guards.ts";
import { inTurns } from "../call/in-turns.ts";
import type { Prepared } from "../call/known.ts";
import { WrittenMemory } from "../call/memory/written-memory.ts";
import { withSpan } from "../call/report/spans.ts";
import { isEventStream } from "../reply/response-headers.ts";
import { lookBeside } from "./look-beside.ts";
import { reportScan } from "./report-scan.ts";
import { runScan, scanRoom } from "./run-scan.ts";

/** Of an answer that is only looked at, this much is kept. */
const COPY_MAX_BYTES = 4 * 1024 * 1024;
/** Bytes of events that are read at once. */
const PART_BYTES = 4 * 1024;
/** Only the end of an answer is judged for harm; the guard model gets less. */
const HARM_TEXT_MAX = 16_000;
/** Answers of these types have no text, on routes that have such answers. */
const NO_TEXT = /^\s*(?:audio|image|video)\//i;
const CHARSET = /;\s*charset\s*=\s*["']?([^\s;"']*)/i;
const READ_CHARSET = /^(?:utf-?8|us-ascii)?$/i;
/** A line of an event stream. */
const EVENT_LINE = /^data:/m;

/** A guarded answer. */
interface Guarding {
  readonly call: Call;
  readonly request: Prepared;
  readonly guards: Guards;
}

/** The stage of the tenant's policy; none when the policy, or the route, has nothing to examine in answers. */
export function outputGuards(call: Call, request: Prepared): readonly AnswerStage[] {
  const guards = guardsOf(request.principal.tenant, "output");
  if (guards === null || call.parentId !== null || !hasText(call)) return [];
  const guarding = { call, request, guards };
  return [
    async (answer, report) =>
      !isOfText(call) && NO_TEXT.test(answer.contentType) ? answer : await guard(guarding, answer, report),
  ];
}

/** Vectors, images and sound are not examined. */
function hasText({ route }: Call): boolean {
  return route.requestType !== "embedding" && route.requestType !== "image" && route.billedBy !== "characters";
}

/** Whether every answer of the route is text, whatever type its upstream declares. */
function isOfText({ route: { requestType, billedBy } }: Call): boolean {
  return requestType !== "other" && (requestType !== "audio" || billedBy === "seconds");
}

/** Whether the text of an answer is its bytes in UTF-8, as far as its headers go. */
function isInUtf8({ contentType, coding }: StagedAnswer): boolean {
  return (coding ?? null) === null && READ_CHARSET.test(CHARSET.exec(contentType)?.[1] ?? "");
}

function noMemory(): GatewayError {
  return new GatewayError("content_policy_unavailable");
}

async function guard(guarding: Guarding, answer: StagedAnswer, report: AnswerReport): Promise<StagedAnswer> {
  const { guards } = guarding;
  if (answer.coding) return await unread(guarding, answer);
  if (guards.action === "log_only") return { ...answer, body: lookedAt(guarding, answer) };
  const events = isEventStream(answer.contentType);
  if (guards.action === "redact" && guards.guardModel === null && events && isInUtf8(answer))
    return { ...answer, body: redactedStream(guarding, answer.body) };
  return { ...answer, body: bodyOfBytes(await examined(guarding, answer, report)) };
}

/** An answer in a coding that cannot be read, if the policy lets it pass. Throws 503 `content_policy_unavailable`. */
async function unread({ call, request, guards }: Guarding, answer: StagedAnswer): Promise<StagedAnswer> {
  await withSpan(call, "boon:guardrails_output", async (span) => {
    const harm = guards.guardModel === null ? null : "failed";
    reportScan(call, request, span, { side: "output", guards, counts: {}, whole: false, harm, textMs: 0, harmMs: 0 });
  });
  if (guards.action === "log_only" || guards.failOpen) return answer;
  await answer.body.cancel().catch(() => undefined);
  throw new GatewayError("content_policy_unavailable");
}

/** The whole answer in its allowed form. Throws GatewayError, and errors of the body. */
async function examined(
  { call, request, guards }: Guarding,
  answer: StagedAnswer,
  report: AnswerReport,
): Promise<Uint8Array> {
  const memory = new WrittenMemory(call.memory.answerMemory, noMemory);
  report.onEnd(() => memory.close());
  const collected = await collectAnswer(call, answer.body, report);
  if (collected.kind === "too-large") {
    await collected.body.cancel().catch(() => undefined);
    throw new GatewayError(collected.noMemory ? "content_policy_unavailable" : "upstream_failed");
  }
  const { bytes } = collected;
  const events = isEventStream(answer.contentType);
  // text in UTF-8 has no NUL; that in wider characters, which some clients recognise, does
  const readable = isInUtf8(answer) && !(isOfText(call) && bytes.includes(0));
  return await withSpan(call, "boon:guardrails_output", async (span) => {
    const { blocked, unjudged, matched } = await scanAnswer({ call, request, guards }, bytes, events, span, readable);
    if (blocked) throw new GatewayError("response_blocked");
    if (unjudged) throw new GatewayError("content_policy_unavailable");
    if (!matched || guards.action !== "redact") return bytes;
    return await inTurns(call, redactedBytes(guards, bytes, events, memory.take));
  });
}

/**
 * Each text is scanned with its other parts, and alone: the texts of an answer do not continue one another. An answer that is
 * not `readable` as text counts as not fully read.
 */
async function scanAnswer(
  { call, request, guards }: Guarding,
  bytes: Uint8Array,
  events: boolean,
  span: OpenSpan,
  readable = true,
): ReturnType<typeof runScan> {
  const held = call.memory.answerMemory.open();
  try {
    const room = (characters: number): boolean => held.grow(characters * CHARACTER_BYTES);
    const collected = await inTurns(call, collectedTexts(bytes, events, room, request.estimate.answers));
    const texts = await inTurns(call, collected.texts());
    // what the texts contain as JSON is known now
    const isRead = readable && collected.plain && collected.whole;
    return await scanTexts({ call, request, guards }, texts, span, isRead);
  } finally {
    held.close();
  }
}

async function scanTexts(
  { call, request, guards }: Guarding,
  texts: readonly (readonly string[])[],
  span: OpenSpan,
  isRead: boolean,
): ReturnType<typeof runScan> {
  const find = function* (room: ScanRoom): ReturnType<Parameters<typeof runScan>[2]["find"]> {
    const matches: ScanMatch[] = [];
    for (const parts of texts) matches.push(...(yield* guards.scan.scanning(parts.map(ofModel), room)));
    if (!isRead) room.units = -1;
    return { matches };
  };
  const harmText = function* (): Steps<string> {
    return (yield* judgedTexts(guards, texts)).join("\n").slice(-HARM_TEXT_MAX);
  };
  return await runScan(call, request, { side: "output", guards, span, find, harmText });
}

/** The end of the text that the client will read: the guard model must not see redacted text. */
function* judgedTexts({ action, scan }: Guards, texts: readonly (readonly string[])[]): Steps<readonly string[]> {
  const judged: (readonly string[])[] = [];
  for (let [at, length] = [texts.length - 1, 0]; at >= 0 && length < HARM_TEXT_MAX; at -= 1) {
    const parts = texts[at] ?? [];
    const shown = action === "redact" ? (yield* scan.redacting(parts.map(ofModel), scanRoom())).texts : parts;
    judged.push(shown);
    for (const text of shown) length += text.length + 1;
  }
  return judged.toReversed().flat();
}

function ofModel(text: string): ScannedText {
  return { text, user: false };
}

/** Some readers drop every byte order mark at the start, not the first one only. */
function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/^\uFEFF+/, "");
}

function* collectedTexts(
  bytes: Uint8Array,
  events: boolean,
  room: (characters: number) => boolean,
  answers: number,
): Steps<CollectedTexts> {
  const texts = new CollectedTexts(room, answers);
  const text = events ? null : textOf(bytes);
  const hasEvents = text === null || EVENT_LINE.test(text);
  if (text !== null) yield* texts.document(text, hasEvents);
  if (hasEvents) yield* filtered(new SseFilter([texts], true), bytes);
  yield* texts.again(() => text ?? textOf(bytes));
  return texts;
}

function* redactedBytes(
  { scan, failOpen }: Guards,
  bytes: Uint8Array,
  events: boolean,
  take: TakeBytes,
): Steps<Uint8Array> {
  const tally = new RedactionTally();
  let redacted = bytes;
  if (!events) {
    const given = textOf(bytes);
    const hasEvents = EVENT_LINE.test(given);
    redacted = new TextEncoder().encode(yield* redactDocument(scan, tally, given, scanRoom(), take, hasEvents));
    if (!hasEvents) return redacted;
  }
  const room = (textBytes: number): boolean => {
    take(textBytes);
    return true;
  };
  const redacting = new RedactingEvents(scan, tally, room, failOpen);
  return concat([yield* filtered(new SseFilter([redacting], true), redacted, take), yield* redacting.finish()]);
}

/** The output of a filter for a whole stream. */
function* filtered(filter: SseFilter, bytes: Uint8Array, take?: TakeBytes): Steps<Uint8Array> {
  return concat([yield* pushed(filter, bytes, take), yield* filter.finishing()]);
}

/** The output of a filter for a chunk, which may include a held answer. */
function* pushed(filter: SseFilter, bytes: Uint8Array, take: TakeBytes = () => undefined): Steps<Uint8Array> {
  const passed: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; at += PART_BYTES) {
    const part = yield* filter.pushing(bytes.subarray(at, at + PART_BYTES));
    take(part.byteLength);
    passed.push(part);
    yield PART_BYTES;
  }
  return joined(passed);
}

/** The stream without what matches; each piece is passed on as soon as no match can grow into it. */
function redactedStream(
  { call, request, guards }: Guarding,
  body: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> {
  const tally = new RedactionTally();
  const held = call.memory.answerMemory.open();
  const writing = new WrittenMemory(call.memory.answerMemory, noMemory);
  const room = (bytes: number): boolean => held.grow(bytes);
  const redacting = new RedactingEvents(guards.scan, tally, room, guards.failOpen, request.estimate.answers);
  const filter = new SseFilter([redacting], true);
  const reader = body.getReader();
  const { clock } = call.ports;
  const span = call.trace.begin("boon:guardrails_output", clock());
  let textMs = 0;
  const rest = function* (): Steps<Uint8Array> {
    return concat([yield* filter.finishing(), yield* redacting.finish()]);
  };
  const scanned = async (piece: Uint8Array | undefined): Promise<Uint8Array> => {
    const beganMs = clock();
    const out = await inTurns(call, piece === undefined ? rest() : pushed(filter, piece, writing.take));
    textMs += clock() - beganMs;
    return out;
  };
  const latch = new OnceLatch();
  const ended = (): void => {
    if (!latch.take()) return;
    held.close();
    writing.close();
    const { pii, ban_keywords } = tally;
    const counts = { ...(pii > 0 ? { pii } : {}), ...(ban_keywords > 0 ? { ban_keywords } : {}) };
    reportScan(call, request, span, {
      side: "output",
      guards,
      counts,
      whole: redacting.plain,
      harm: null,
      textMs,
      harmMs: 0,
    });
    span.end(clock());
  };
  return new ReadableStream(
    {
      pull: async (controller) => {
        try {
          for (;;) {
            const { done, value } = await reader.read();
            const out = await scanned(value);
            if (out.byteLength > 0) controller.enqueue(out);
            writing.passOn();
            if (done) {
              ended();
              controller.close();
            }
            if (done || out.byteLength > 0) return;
          }
        } catch (error) {
          ended();
          await reader.cancel(error).catch(() => undefined);
          throw error;
        }
      },
      cancel: async (reason) => {
        ended();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The same body; a copy of it is examined when it has ended, in any way. */
function lookedAt(guarding: Guarding, { body, contentType }: StagedAnswer): ReadableStream<Uint8Array> {
  const { call, request } = guarding;
  const copy: Uint8Array[] = [];
  const kept = call.memory.answerMemory.open();
  let room = COPY_MAX_BYTES;
  const keep = (bytes: Uint8Array): void => {
    if (bytes.byteLength > room || !kept.grow(bytes.byteLength)) room = 0;
    if (room === 0) return;
    room -= bytes.byteLength;
    copy.push(bytes.slice());
  };
  const reader = body.getReader();
  let over = false;
  const ended = (): void => {
    if (over) return;
    over = true;
    const [bytes, events] = [concat(copy), isEventStream(contentType)];
    const look = async (span: OpenSpan, beside: Call): Promise<void> =>
      void (await scanAnswer({ ...guarding, call: beside }, bytes, events, span));
    void lookBeside(call, request, "boon:guardrails_output", look).finally(() => kept.close());
  };
  return new ReadableStream(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (!done) {
            controller.enqueue(value);
            return keep(value);
          }
          ended();
          controller.close();
        } catch (error) {
          ended();
          throw error;
        }
      },
      cancel: async (reason) => {
        ended();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
