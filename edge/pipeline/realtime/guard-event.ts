/**
 * The guardrails of a realtime session (docs/rules/realtime.md#guardrails): each event of the client is examined like a request
 * before it is sent on, and the events of each response like the answer to one. Audio is not examined.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { guardedTexts } from "../../domain/message-texts/request-texts.ts";
import { textScopeOf } from "../../domain/message-texts/text-scopes.ts";
import { besideRead, orderFault } from "../../domain/realtime/client-events.ts";
import type { NumberedEvent } from "../../domain/realtime/event-ids.ts";
import {
  eventOf,
  isTextless,
  isTranscriptPiece,
  type RealtimeEvent,
  spokenPartsOf,
  transcriptsOf,
  withTranscripts,
} from "../../domain/realtime/realtime-events.ts";
import type { Earlier, ItemTexts, SaidBefore } from "../../domain/realtime/said-before.ts";
import { routeClassOf } from "../../domain/request/route-class.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";
import { isJsonObject, type JsonObject, jsonObjectOf } from "../../domain/wire/json/document.ts";
import { parsedInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import { writtenInSteps } from "../../domain/wire/json/write-in-steps.ts";
import type { Call } from "../call/context.ts";
import { guardsOf } from "../call/guards.ts";
import { inTurns } from "../call/in-turns.ts";
import { guardInput } from "../guardrails/guard-input.ts";
import { outputGuards } from "../guardrails/guard-output.ts";
import { fieldError } from "../resolve-model/field-error.ts";
import { writtenCall } from "../resolve-model/json-outgoing.ts";
import { eventData } from "./event-data.ts";
import { callOnSession, type OpenSession, type ResponseCall, withBody } from "./response-call.ts";

/** By whose rules texts are examined. */
const RESPONSES = "/v1/responses";
/** The objects of an event besides its item, each read as a body of the Responses API. */
const BODIES = ["session", "response"] as const;

/** How often an item is redacted that completes one match after another. */
const ROUNDS_MAX = 3;

/** The event as the policy lets it pass. Throws the failure of a refusal. */
export async function guardedEvent(
  session: Call,
  request: OpenSession,
  event: NumberedEvent,
  before: SaidBefore,
): Promise<RealtimeEvent> {
  const guards = guardsOf(request.principal.tenant, "input");
  if (guards === null) return event;
  const fault = guards.action === "log_only" ? null : orderFault(event);
  if (fault !== null) throw fieldError(fault);
  if (isTextless(event)) return event;
  const { item } = event;
  const beside = besideRead(event);
  const passed = { ...event, ...(beside === null ? {} : await examined(session, request, beside, session.path)) };
  for (const name of BODIES)
    if (isJsonObject(event[name])) passed[name] = await examined(session, request, event[name], RESPONSES);
  const { event_id: id } = event;
  passed["event_id"] = id;
  if (isJsonObject(item)) {
    const { item: last, texts } = await guardedItem(session, request, item, before);
    before.add(texts, guards.action === "log_only" ? null : id);
    passed["item"] = last;
  }
  const written = eventOf(passed);
  if (written === null) throw new GatewayError("content_policy_unavailable");
  return written;
}

/** Whether an event shows a transcript of the client's audio. */
export function showsSpoken(event: RealtimeEvent): boolean {
  return isTranscriptPiece(event) || transcriptsOf(event).length > 0;
}

/**
 * The event with the transcript of the client's audio, as the policy lets it be shown; null: not yet. Throws the failure of a
 * refusal.
 */
export async function guardedSpoken(
  session: Call,
  request: OpenSession,
  event: RealtimeEvent,
  before: SaidBefore,
): Promise<RealtimeEvent | null> {
  const guards = guardsOf(request.principal.tenant, "input");
  if (guards === null) return event;
  if (isTranscriptPiece(event)) return guards.action === "log_only" ? event : null;
  const said = transcriptsOf(event).map((text) => ({ type: "input_text", text }));
  const spoken = { type: "message", role: "user", content: said };
  const { item: written, texts: ofItem } = await guardedItem(session, request, spoken, before);
  const parts = spokenPartsOf(event);
  const news = parts?.map((part) => before.isNewlySpoken(part));
  if (news !== undefined && (news.length === 0 || news.includes(true))) before.add(ofItem, null);
  const { content } = written;
  const texts: unknown[] = Array.isArray(content) ? content.map((part) => jsonObjectOf(part)?.["text"]) : [];
  if (texts.length !== said.length) throw new GatewayError("content_policy_unavailable");
  return withTranscripts(event, () => String(texts.shift()));
}

/** The item as the policy lets it pass after the earlier text, and its texts. */
async function guardedItem(session: Call, request: OpenSession, given: JsonObject, before: SaidBefore) {
  let item = given;
  let texts = await textsOfItem(session, request, item);
  for (let round = 1; ; round += 1) {
    const earlier = before.before(texts.isSystem).map(earlierItem);
    const body = { input: [...earlier, item] };
    const { input } = await examined(session, request, body, RESPONSES);
    if (input === body.input) return { item, texts };
    const items = input as readonly unknown[];
    const last = jsonObjectOf(items.at(-1));
    if (last === null) throw new GatewayError("content_policy_unavailable");
    const { contents, beside } = texts;
    item = last;
    texts = await textsOfItem(session, request, item);
    // the model has the unredacted start of a match: the rest of the item may complete another one
    const completesMatch = JSON.stringify(items.slice(0, -1)) !== JSON.stringify(earlier);
    const isSame = areSame(texts.contents, contents) && areSame(texts.beside, beside);
    if (!completesMatch || isSame) return { item, texts };
    if (round === ROUNDS_MAX) throw new GatewayError("request_blocked");
  }
}

function areSame(texts: readonly string[], others: readonly string[]): boolean {
  return texts.length === others.length && texts.every((text, at) => text === others[at]);
}

function earlierItem({ from, texts }: Earlier): JsonObject {
  if (from === "thought") return { type: "reasoning", summary: texts.map((text) => ({ type: "summary_text", text })) };
  return { type: "message", role: from, content: texts.map((text) => ({ type: "input_text", text })) };
}

async function textsOfItem(session: Call, request: OpenSession, item: JsonObject): Promise<ItemTexts> {
  const call = asPathOf(session, RESPONSES);
  const { scansAssistant = false } = guardsOf(request.principal.tenant, "input") ?? {};
  const bytes = await inTurns(call, writtenInSteps({ input: [item] }));
  const texts = await inTurns(call, guardedTexts([bytes], textScopeOf(call.path, call.route), scansAssistant));
  const { prompts, beside, hasSystem: isSystem } = texts;
  const written = prompts.map(({ text }) => text);
  return { contents: written.slice(beside.length), isSystem, beside: written.slice(0, beside.length) };
}

/** A separate call, whose texts are those of a call of this path. */
function asPathOf(session: Call, path: string): Call {
  const call = callOnSession(session);
  const { requestType } = routeClassOf(path);
  return { ...call, path, route: { ...call.route, requestType }, reservesJudgement: true };
}

/** The body as the policy lets it pass. */
async function examined(session: Call, request: OpenSession, body: JsonObject, path: string): Promise<JsonObject> {
  const call = asPathOf(session, path);
  const parsed = await inTurns(
    call,
    writtenCall(body, request.parsed.modelName, () => false),
  );
  try {
    const passed = await guardInput(call, withBody(request, parsed));
    passed.guarded?.beside?.("admitted");
    const { outgoing } = passed.parsed;
    if (outgoing === parsed.outgoing) return body;
    const text = new TextDecoder().decode(concat(outgoing.clientBytes ?? []));
    const changed = await inTurns(call, parsedInSteps(text));
    if (!isJsonObject(changed)) throw new GatewayError("content_policy_unavailable");
    return changed;
  } finally {
    for (const undo of call.cleanups) undo();
  }
}

/** What happens to the events of a response on their way. */
export interface GuardedEvents {
  push(text: string): Promise<void>;
  /** No event follows. Resolves when the client has all events that it may have. Throws the refusal of the answer. */
  end(): Promise<void>;
}

/** Null: nothing is examined. `send` is called with each event that may pass. */
export function guardedEvents(
  { call, request }: Pick<ResponseCall, "call" | "request">,
  send: (text: string) => void,
): GuardedEvents | null {
  // A response is the client's request, not the gateway's own.
  const [stage] = outputGuards({ ...call, parentId: null }, request);
  if (stage === undefined) return null;
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const pass = async (): Promise<void> => {
    const ends: (() => void)[] = [];
    const report = { warn: () => undefined, broken: () => undefined, onEnd: (end: () => void) => void ends.push(end) };
    try {
      const answer = { status: 200, contentType: "text/event-stream", body: readable };
      for await (const text of eventData((await stage(answer, report)).body)) send(text);
    } catch (error) {
      await readable.cancel().catch(() => undefined);
      throw error;
    } finally {
      for (const end of ends) end();
    }
  };
  const passed = pass();
  // what it holds is freed also when the client has left
  call.waitUntil(passed.catch(() => undefined));
  const encoder = new TextEncoder();
  return {
    // Shows the reason at the end if the rest is no longer read.
    push: async (text) => await writer.write(encoder.encode(`data: ${text}\n\n`)).catch(() => undefined),
    end: async () => {
      await writer.close().catch(() => undefined);
      await passed;
    },
  };
}

/** Ends the examination. Returns the refusal; null: the client has all of it. */
export async function guardRefusal(guarded: GuardedEvents | null): Promise<GatewayError | null> {
  try {
    await guarded?.end();
    return null;
  } catch (error) {
    return error instanceof GatewayError ? error : new GatewayError("content_policy_unavailable", { cause: error });
  }
}
