/**
 * A call to a model whose API is another one than the client's (docs/rules/upstream-calls.md#translated-calls): its body is
 * translated once for each model that is tried, after its slot and its budgets are granted. Every other call is sent unchanged.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import type { Steps } from "../../../shared/steps.ts";
import type { Translation } from "../../domain/dialect/contract.ts";
import { translationOf } from "../../domain/dialect/translation.ts";
import { routeClassOf } from "../../domain/request/route-class.ts";
import type { MemberEdits, TransformPlan } from "../../domain/upstream/transform.ts";
import { joinedInSteps } from "../../domain/wire/bytes/byte-pieces.ts";
import { isJsonObject, type JsonObject } from "../../domain/wire/json/document.ts";
import { parsedBytes, parsedInSteps } from "../../domain/wire/json/parse-in-steps.ts";
import type { TakeBytes } from "../../domain/wire/json/write-in-steps.ts";
import type { OutgoingBody } from "../call/client-body.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import type { ParsedCall, Resolved } from "../call/known.ts";
import { writtenCall } from "../resolve-model/json-outgoing.ts";
import { editsOf } from "./transform-plans.ts";

const CHAT = "/v1/chat/completions";
/** The limit as newer models call it; {@link limitPlan} writes the name that most servers know. */
const NEWER_LIMIT = "max_completion_tokens";
const MESSAGES = "/v1/messages";
const RESPONSES = "/v1/responses";
/** While it is translated, a body is held three times: its text, its values, and the written result. */
const COPIES = 3;
/** The most of a body, and of its written result. */
const BODY_MAX_BYTES = Math.floor(LIMITS.tenantBodyMemory / COPIES);

/** A call as the model's upstreams get it. */
interface SpokenCall {
  readonly parsed: ParsedCall;
  readonly plans: readonly TransformPlan[];
  /** Null: it is not translated. */
  readonly translation: Translation | null;
  /** Frees the memory of the bodies written for the upstreams. */
  readonly release: () => void;
}

type Speaks = Pick<ModelRecord, "api_dialect" | "responses_api">;

/** Whether a call of the Responses API is translated for the model. */
export function translatesResponses(path: string, { api_dialect, responses_api }: Speaks): boolean {
  return path === RESPONSES && (api_dialect === "anthropic" || responses_api === "translated");
}

/** Whether the model can answer a call of this path, in its own API or by a translation. */
export function isSpoken(path: string, model: Speaks): boolean {
  if (path === RESPONSES || path === CHAT || path === MESSAGES) return true;
  if (model.api_dialect === "anthropic") return path === `${MESSAGES}/count_tokens`;
  return model.responses_api === "native" || !path.startsWith(`${RESPONSES}/`);
}

/**
 * The call for the model's upstreams. Throws 400 `untranslatable_field`, 413, 503 `scheduler_unavailable`, and
 * ClientGone.
 */
export async function spokenCall(
  call: Call,
  { model, parsed }: Pick<Resolved, "model" | "parsed">,
  plans: readonly TransformPlan[],
): Promise<SpokenCall> {
  const asItIs = { parsed, plans, translation: null, release: () => undefined };
  if (call.path === RESPONSES && !translatesResponses(call.path, model)) return asItIs;
  const createdSecs = Math.floor(call.ports.clock() / 1000);
  // The gateway needs the usage of every answer; the transform that asked for it withholds it.
  const translation = translationOf(call.path, model.api_dialect, { createdSecs, usageAsked: true });
  if (translation === null) return asItIs;
  const size = sizeOf(parsed.outgoing);
  if (size > BODY_MAX_BYTES) throw new GatewayError("request_too_large");
  const memory = await memoryFor(call, size);
  try {
    const edits = plans.length === 0 ? parsed.edits : editsOf(plans);
    const written = await inTurns(call, translated(call, parsed, edits, translation));
    await memory.keep(sizeOf(written.outgoing));
    const sent = translation.path === "messages" ? [] : upstreamPlans(call, model, written);
    return { parsed: written, plans: sent, translation, release: memory.release };
  } catch (error) {
    memory.release();
    throw error;
  }
}

function sizeOf({ clientBytes }: OutgoingBody): number {
  return (clientBytes ?? []).reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/**
 * Memory to translate a body, from its tenant's share: for its values while it is translated, its text and the written result.
 * The body of a sub-call is not counted; only its translation is, while it lasts.
 */
async function memoryFor(
  call: Call,
  size: number,
): Promise<{ readonly keep: (bytes: number) => Promise<void>; readonly release: () => void }> {
  const { memory } = call.body;
  if (memory === null) {
    const own = call.memory.answerMemory.open();
    if (!own.grow(COPIES * size)) throw noMemory("the body");
    const close = (): void => own.close();
    return { keep: async () => close(), release: close };
  }
  const before = memory.valuesBytes;
  const reserve = async (bytes: number): Promise<unknown> =>
    await memory.reserveValues(Math.min(bytes, LIMITS.tenantBodyMemory));
  await reserve(2 * (memory.weightBytes + size));
  const keep = async (bytes: number): Promise<void> => {
    // it may be longer than the client's
    await reserve(memory.weightBytes + before + bytes);
    memory.keepValues(before + bytes);
  };
  return { keep, release: () => memory.keepValues(before) };
}

/** There is not enough memory of the isolate for a translation now. */
export function noMemory(translated: string): GatewayError {
  const cause = `no memory to translate ${translated}`;
  return new GatewayError("scheduler_unavailable", { cause, headers: { "retry-after": "1" } });
}

/** Counts the written part of a body. Throws 413 if it exceeds the limit of one body. */
function bounded(): TakeBytes {
  let writtenBytes = 0;
  return (bytes) => {
    writtenBytes += bytes;
    if (writtenBytes > BODY_MAX_BYTES) throw new GatewayError("request_too_large");
  };
}

function* translated(
  { ports }: Call,
  { outgoing, modelName }: ParsedCall,
  edits: MemberEdits,
  translation: Translation,
): Steps<ParsedCall> {
  // the usage of a stream is requested as for every chat completion: an upstream may refuse it
  const { stream_options: _, ...body } = yield* translation.request(yield* documentOf(outgoing, edits), bounded());
  const isEdited = (name: string): boolean => name === NEWER_LIMIT || ports.transforms.edits(name);
  return yield* writtenCall(body, modelName, isEdited, bounded());
}

/** The document for the upstream. */
function* documentOf({ clientBytes }: OutgoingBody, edits: MemberEdits): Steps<JsonObject> {
  const decoder = new TextDecoder();
  const root = yield* parsedBytes(yield* joinedInSteps(clientBytes ?? []));
  if (!isJsonObject(root)) throw new GatewayError("invalid_json");
  const edited = root as Record<string, unknown>;
  for (const [name, value] of edits) {
    if (value === undefined) delete edited[name];
    else edited[name] = value instanceof Uint8Array ? yield* parsedInSteps(decoder.decode(value)) : value;
  }
  return edited;
}

/** The plans for the translated body. The translation reads the usage itself, so nothing must be withheld. */
function upstreamPlans(
  { ports }: Call,
  model: ModelRecord,
  { document, stream }: ParsedCall,
): readonly TransformPlan[] {
  const member = (name: string): unknown => document.root[name];
  const route = routeClassOf(CHAT);
  const plans = ports.transforms.plan({ route, model, stream, document, member });
  return [...limitPlan(document.root), ...plans.map((plan) => ({ ...plan, response: null }))];
}

/**
 * Most servers know `max_tokens`, and some would ignore another name. An upstream that refuses it and names the other one, as
 * OpenAI's reasoning models do, is called without this plan.
 */
function limitPlan({ [NEWER_LIMIT]: limit }: JsonObject): readonly TransformPlan[] {
  if (limit === undefined) return [];
  const edits = new Map([
    [NEWER_LIMIT, undefined],
    ["max_tokens", limit],
  ]);
  return [{ name: "output_limit", edits, optional: true, response: null }];
}
