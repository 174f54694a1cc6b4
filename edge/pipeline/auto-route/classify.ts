/**
 * Asks the classifier model which tags fit a request (docs/rules/auto-router.md#classifier). Its upstream is called once,
 * without a slot, a row or a bill. Whatever goes wrong leaves the request to the heuristics; only a client that leaves
 * ends it.
 */
import type { ModelRecord } from "../../../shared/records.ts";
import type { AutoRouterValue } from "../../../shared/schema/settings/auto-router.ts";
import { answeredTags, classifiedText, classifierBody } from "../../domain/auto-route/classifier.ts";
import { verdictKey } from "../../domain/auto-route/verdict-cache.ts";
import type { JsonObject } from "../../domain/json/document.ts";
import { orderTargets } from "../../domain/upstream/endpoint-order.ts";
import { modelRev } from "../access/freshness.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { BoundedBuffer } from "../memory/bounded-buffer.ts";
import { childOf, parsedOf } from "../sub-call.ts";
import { type AttemptInput, attempt, cancelAnswer, type UpstreamAnswer } from "../upstream/attempt.ts";
import { UpstreamProgress } from "../upstream/upstream-progress.ts";

/** Largest answer that is read: it was asked for a few words. */
const ANSWER_MAX_BYTES = 64 * 1024;

/** What is to be classified. */
interface Classified {
  readonly settings: AutoRouterValue;
  /** The tags to choose from. */
  readonly vocabulary: readonly string[];
  readonly userTexts: readonly string[];
}

/** The tags, which may be none; null: the classifier is off, or has not answered. Throws ClientGone. */
export async function classify(call: Call, classified: Classified): Promise<readonly string[] | null> {
  const { settings, vocabulary, userTexts } = classified;
  const { classifier_enabled: enabled, classifier_model: name } = settings;
  const text = classifiedText(userTexts);
  if (!enabled || name === null || text === null || vocabulary.length === 0) return null;
  const { verdicts } = call.memory.autoRouter;
  const key = verdictKey(vocabulary, text);
  const known = verdicts.find(key, call.ports.clock());
  if (known !== null) return known;
  const model = await classifierModel(call, name);
  if (model === null) return null;
  const answer = await ask(call, model, classifierBody(vocabulary, text), settings.classifier_timeout_ms);
  const tags = answer === null ? null : answeredTags(answer.value, vocabulary);
  if (tags === null) call.ports.log.event("auto_classifier_failed", { request_id: call.requestId, model: name });
  else verdicts.keep(key, tags, call.ports.clock());
  return tags;
}

/** The record of the classifier, as the Cell knows it now; null: it is not registered and enabled, or cannot be read. */
async function classifierModel(call: Call, name: string): Promise<ModelRecord | null> {
  const { directory, admission } = call.ports;
  try {
    const found = await directory.model(name);
    if (found === null) return null;
    const stale = await admission.staleAmong([modelRev(found.record)]);
    directory.forget(stale);
    const current = stale.length === 0 ? found : await directory.model(name, { fresh: true });
    return current?.record.enabled === true ? current.record : null;
  } catch {
    return null;
  }
}

/** The answer as JSON, undefined when it is not JSON; null: there is none that can be used. Throws ClientGone. */
async function ask(
  parent: Call,
  model: ModelRecord,
  body: JsonObject,
  timeoutMs: number,
): Promise<{ readonly value: unknown } | null> {
  const call = childOf(parent, parent.route);
  const sending: AttemptInput = {
    call,
    model: { ...model, request_timeout_secs: timeoutMs / 1000 },
    parsed: parsedOf({ model: model.model_name, ...body }, model.model_name),
    plans: [],
    progress: new UpstreamProgress(),
    onFirstSend: () => undefined,
  };
  const nowMs = call.ports.clock();
  const targets = orderTargets(model, {
    sessionId: "",
    fraction: () => call.ports.random.fraction(),
    isDemoted: (key) => call.memory.endpoints.isDemoted(key, nowMs),
    defaultBase: call.config.upstreamBaseUrl,
  });
  try {
    for (const target of targets) {
      const attempted = await attempt(sending, target);
      if (attempted.kind === "answered") return await read(call, attempted.answer);
      if (attempted.kind !== "unusable") return null;
    }
  } catch (error) {
    if (error instanceof ClientGone || parent.request.signal.aborted) throw new ClientGone();
  }
  return null;
}

/** Reads the answer to its end, within the deadline of its attempt. Null: an error, or more than is read. Throws. */
async function read(call: Call, answer: UpstreamAnswer): Promise<{ readonly value: unknown } | null> {
  const { response, cancellation } = answer;
  const buffer = new BoundedBuffer(ANSWER_MAX_BYTES, call.memory.answerMemory.open());
  let whole = false;
  try {
    if (!response.ok || response.body === null) return null;
    for await (const chunk of response.body) {
      buffer.push(chunk);
      if (!buffer.isWhole) return null;
    }
    whole = true;
    const bytes = buffer.take();
    return bytes === null ? null : { value: parsedJson(bytes) };
  } finally {
    buffer.close();
    if (whole) cancellation.release();
    else cancelAnswer(answer);
  }
}

function parsedJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
