/**
 * The guardrails of a realtime session (docs/rules/realtime.md#guardrails): each event of the client is examined like a request
 * before it is sent on, and the events of each response like the answer to one. Audio is not examined.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { eventOf, isTextless, type RealtimeEvent } from "../../domain/realtime/realtime-events.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";
import { isJsonObject, type JsonObject } from "../../domain/wire/json/document.ts";
import { parsedInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import type { Call } from "../call/context.ts";
import { guardsOf } from "../call/guards.ts";
import { inTurns } from "../call/in-turns.ts";
import { guardInput } from "../guardrails/guard-input.ts";
import { outputGuards } from "../guardrails/guard-output.ts";
import { writtenCall } from "../resolve-model/json-outgoing.ts";
import { callOnSession, type OpenSession, type ResponseCall, withBody } from "./response-call.ts";

/** The event as the policy lets it pass. Throws the failure of what refuses it. */
export async function guardedEvent(session: Call, request: OpenSession, event: RealtimeEvent): Promise<RealtimeEvent> {
  if (guardsOf(request.principal.tenant, "input") === null || isTextless(event)) return event;
  const { item } = event;
  // An item is read as the Responses API reads its input, everything else as that of a path without rules of its own.
  const isItem = isJsonObject(item);
  const call: Call = {
    ...callOnSession(session),
    path: isItem ? "/v1/responses" : session.path,
    reservesJudgement: true,
  };
  const body: JsonObject = isItem ? { input: [item] } : event;
  const parsed = await inTurns(
    call,
    writtenCall(body, request.parsed.modelName, () => false),
  );
  try {
    const passed = await guardInput(call, withBody(request, parsed));
    passed.guarded?.beside?.("admitted");
    const { outgoing } = passed.parsed;
    if (outgoing === parsed.outgoing) return event;
    const text = new TextDecoder().decode(concat(outgoing.clientBytes ?? []));
    const changed = await inTurns(call, parsedInSteps(text));
    const given =
      isItem && isJsonObject(changed) ? { ...event, item: (changed["input"] as readonly unknown[])[0] } : changed;
    const written = eventOf(given);
    if (written === null) throw new GatewayError("content_policy_unavailable");
    return written;
  } finally {
    for (const undo of call.cleanups) undo();
  }
}

/** What happens to the events of a response on their way. */
export interface GuardedEvents {
  push(text: string): Promise<void>;
  /** No event follows. Resolves when the client has those that it may have. Throws what the answer is refused with. */
  end(): Promise<void>;
}

/** Null: nothing is examined. `send` is called with each event that may pass. */
export function guardedEvents({ call, request }: ResponseCall, send: (text: string) => void): GuardedEvents | null {
  // A response is what its client asked for, not what the gateway asks for itself.
  const [stage] = outputGuards({ ...call, parentId: null }, request);
  if (stage === undefined) return null;
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const pass = async (): Promise<void> => {
    const ends: (() => void)[] = [];
    const report = { warn: () => undefined, broken: () => undefined, onEnd: (end: () => void) => void ends.push(end) };
    try {
      const answer = { status: 200, contentType: "text/event-stream", body: readable };
      for await (const text of dataOf((await stage(answer, report)).body)) send(text);
    } catch (error) {
      await readable.cancel().catch(() => undefined);
      throw error;
    } finally {
      for (const end of ends) end();
    }
  };
  const passed = pass();
  passed.catch(() => undefined);
  const encoder = new TextEncoder();
  return {
    // What is no longer read shows its reason at the end.
    push: async (text) => await writer.write(encoder.encode(`data: ${text}\n\n`)).catch(() => undefined),
    end: async () => {
      await writer.close().catch(() => undefined);
      await passed;
    },
  };
}

/** The data of each event of a stream that the gateway has written. */
async function* dataOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of body) {
    const events = (rest + decoder.decode(piece, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) yield event.replace(/^data: ?/, "");
  }
}
