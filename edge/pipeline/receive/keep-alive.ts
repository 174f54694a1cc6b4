/**
 * A stream whose client has had nothing for a while gets its head and comments, so that no proxy on the way gives it up
 * (docs/rules/streams.md#keep-alive). The later answer of the steps follows in it: a stream unchanged, everything else as one
 * event.
 */
import { errorBody } from "../../../shared/errors.ts";
import type { Steps } from "../../../shared/steps.ts";
import { errorEvent } from "../../domain/wire/error-form.ts";
import { type JsonObject, jsonObjectOf } from "../../domain/wire/json/document.ts";
import { KEEP_ALIVE } from "../../domain/wire/sse/events.ts";
import { collectAnswer } from "../call/boon/answer-stage.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import type { CallAnswer, Resolved } from "../call/known.ts";
import { gatewayHeaders, isEventStream, STREAM_HEADERS } from "../reply/response-headers.ts";

/** Characters of an answer that are written at once, and of the longest error that is passed on. */
const PART = 16 * 1024;
const ERROR_MAX = 256 * 1024;

/** From now on the client of a stream gets its head when its model's time without anything has passed since it arrived. */
export function limitSilence(call: Call, request: Resolved): void {
  const { model, parsed } = request;
  const { requestType, billedBy } = call.route;
  // A spoken answer is not an event stream, and an unknown path may have streams of another form.
  const isEvents = billedBy !== "characters" && requestType !== "other";
  if (!parsed.stream || !isEvents || model.stream_keepalive_secs === 0) return;
  const leftMs = call.arrivedMs + model.stream_keepalive_secs * 1000 - call.ports.clock();
  call.cleanups.push(call.timer.after(Math.max(leftMs, 0), () => call.headDue.resolve(request)));
}

/** The answer of a stream that still has none. */
export function answerEarly(call: Call, request: Resolved, answering: Promise<CallAnswer>): CallAnswer {
  const { readable, writable } = new IdentityTransformStream();
  call.waitUntil(fill(call, request, answering, writable));
  // The time of the gateway's own work is not known yet.
  const { "x-gateway-overhead-ms": _unknown, ...known } = gatewayHeaders(call, request);
  const headers = { ...known, ...STREAM_HEADERS, "content-type": "text/event-stream" };
  return { response: new Response(readable, { headers }), known: request };
}

/** Never rejects. */
async function fill(
  call: Call,
  { model }: Resolved,
  answering: Promise<CallAnswer>,
  writable: WritableStream<Uint8Array>,
): Promise<void> {
  const writer = writable.getWriter();
  try {
    for (let answered = null; answered === null; ) {
      await writer.write(KEEP_ALIVE);
      const { promise, resolve } = Promise.withResolvers<null>();
      const callOff = call.timer.after(model.stream_keepalive_secs * 1000, () => resolve(null));
      answered = await Promise.race([answering, promise]);
      callOff();
    }
    const { response } = await answering;
    if (response.ok && response.body !== null && isEventStream(response.headers.get("content-type"))) {
      for await (const piece of response.body) await writer.write(piece);
    } else await writer.write(await eventOf(call, response));
    await writer.close();
  } catch (error) {
    // The client has left, and its pending answer ends with it; or the body was broken off.
    await writer.abort(error).catch(() => undefined);
    await (await answering).response.body?.cancel().catch(() => undefined);
  }
}

/** An answer that is not a stream, as the only event of a stream. */
async function eventOf(call: Call, response: Response): Promise<Uint8Array> {
  const text = response.body === null ? "" : await textOf(call, response.body);
  if (response.ok && text !== "") return await inTurns(call, oneEvent(text));
  return errorEvent({ error: errorOf(text) ?? errorBody("upstream_failed").error }, call);
}

function* oneEvent(text: string): Steps<Uint8Array> {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    // a line break is never cut in two
    const to = at + PART - (text[at + PART - 1] === "\r" ? 1 : 0);
    parts.push(text.slice(at, to).replace(/\r\n?|\n/g, "\ndata: "));
    yield PART;
    at = to;
  }
  return new TextEncoder().encode(`data: ${parts.join("")}\n\n`);
}

/** "" if there is none, or more than may be held. */
async function textOf(call: Call, body: ReadableStream<Uint8Array>): Promise<string> {
  const held: (() => void)[] = [];
  const report = { warn: () => undefined, broken: () => undefined, onEnd: (free: () => void) => void held.push(free) };
  try {
    const collected = await collectAnswer(call, body, report);
    if (collected.kind === "whole") return new TextDecoder().decode(collected.bytes);
    await collected.body.cancel();
    return "";
  } finally {
    for (const free of held) free();
  }
}

/** The error in a document, or the document that is one; null: the text is not a JSON object, or longer than any error. */
function errorOf(text: string): JsonObject | null {
  try {
    const document = text.length > ERROR_MAX ? null : jsonObjectOf(JSON.parse(text));
    return jsonObjectOf(document?.["error"]) ?? document;
  } catch {
    return null;
  }
}
