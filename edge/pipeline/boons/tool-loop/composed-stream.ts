/**
 * The streams of all turns as one stream (docs/rules/tool-loop.md#streaming). Nothing is read before the client has taken the
 * earlier bytes. A client that leaves ends the turn or the tools under way.
 */
import { GatewayError } from "../../../../shared/errors.ts";
import { EventReader } from "../../../../shared/wire/event-reader.ts";
import { StreamComposer } from "../../../domain/tools/stream-composer.ts";
import { sumUsage } from "../../../domain/tools/usage-sum.ts";
import { errorEvent } from "../../../domain/wire/error-form.ts";
import type { AnswerReport } from "../../call/boon/answer-stage.ts";
import { ClientGone } from "../../call/client-gone.ts";
import { inTurns } from "../../call/in-turns.ts";
import type { ToolLoop } from "./tool-loop.ts";

/** Largest event that is read. */
const EVENT_MAX_CHARACTERS = 1024 * 1024;
/** The most that is kept of one turn, in characters. */
const TURN_MAX_CHARACTERS = 1024 * 1024;

/** The most that is read of an error. */
const ERROR_MAX_BYTES = 64 * 1024;

const encoder = new TextEncoder();

/** The client's stream; `first` is the stream of the first turn. */
export function composedStream(
  loop: ToolLoop,
  first: ReadableStream<Uint8Array>,
  report: AnswerReport,
): ReadableStream<Uint8Array> {
  const memory = loop.call.memory.answerMemory.open();
  report.onEnd(() => memory.close());
  let isLost = false;
  let turnBytes = 0;
  const reading: { now: ReadableStreamDefaultReader<Uint8Array> | null } = { now: null };
  const pieces = compose();
  return new ReadableStream(
    {
      pull: async (controller) => {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => {
        loop.close();
        memory.close();
        await reading.now?.cancel().catch(() => undefined);
        // Not awaited: a turn that has been asked for answers first.
        pieces.return(undefined).catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );

  async function* compose(): AsyncGenerator<Uint8Array, undefined> {
    const composer = new StreamComposer({
      owned: loop.owned,
      usageAsked: loop.usageAsked,
      turnMaxCharacters: TURN_MAX_CHARACTERS,
    });
    let usage = null;
    for (let body = first; ; ) {
      try {
        yield* turn(composer, body);
      } catch (error) {
        if (body !== first) lost();
        throw error;
      }
      if (composer.failed) return;
      usage = sumUsage(usage, loop.believed(composer.turn.usage, turnBytes));
      // The kept part of a turn stays in memory as a part of the next request.
      const whole = composer.turn.isWhole && memory.grow(2 * composer.turn.characters);
      const finished = composer.turn.turn();
      const decision = await loop.decide(finished, whole);
      if (decision.kind === "final") {
        yield encoder.encode(
          await inTurns(loop.call, composer.end(finished, { toolCalls: decision.toolCalls, usage })),
        );
        return;
      }
      yield encoder.encode(composer.announce(decision.calls.map(({ name }) => name)));
      await loop.run(finished, decision);
      const next = await nextBody(loop);
      if (loop.ended) {
        await next?.cancel();
        return;
      }
      if (next === null) {
        lost();
        yield errorEvent((loop.call.interruption.failure ?? new GatewayError("upstream_stream_error")).body, loop.call);
        return;
      }
      body = next;
      composer.nextTurn();
    }
  }

  /** Reports a later turn that failed, or broke off, unless the client or this answer ended it. */
  function lost(): void {
    if (isLost || loop.ended || loop.call.request.signal.aborted) return;
    isLost = true;
    loop.failed();
    report.broken();
    report.warn("tool_loop_dispatch_failed");
  }

  /** Passes on the client's part of one turn. */
  async function* turn(composer: StreamComposer, body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    const reader = body.getReader();
    reading.now = reader;
    turnBytes = 0;
    const events = new EventReader(EVENT_MAX_CHARACTERS);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        turnBytes += value?.byteLength ?? 0;
        const data = done ? events.finish() : events.push(value);
        let text = "";
        for (const one of data) text += await inTurns(loop.call, composer.take(one));
        // Before the client has the error: it may leave with it.
        if (composer.failed && body !== first) lost();
        if (text !== "") yield encoder.encode(text);
        if (done) return;
        if (events.overflowed) throw new GatewayError("upstream_failed");
      }
    } finally {
      reading.now = null;
      await reader.cancel().catch(() => undefined);
    }
  }
}

/** The stream of the next turn; null if there is none. Throws ClientGone. */
async function nextBody(loop: ToolLoop): Promise<ReadableStream<Uint8Array> | null> {
  try {
    const next = await loop.nextTurn();
    if (next.ok && next.body !== null) return next.body;
    if (next.body !== null) await readAway(next.body);
  } catch (error) {
    if (error instanceof ClientGone) throw error;
  }
  return null;
}

/** Reads an error to its end, or for as long as it is short: the row of a call whose answer is cancelled says 499. */
async function readAway(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    bytes += value.byteLength;
    if (bytes > ERROR_MAX_BYTES) return await reader.cancel();
  }
}
