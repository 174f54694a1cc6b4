/**
 * Asks the classifier model which tags fit a request (docs/rules/auto-router.md#classifier). Its upstream is called once,
 * without a slot, a row or a bill. Whatever goes wrong leaves the request to the heuristics; only a client that leaves
 * ends it.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { AutoRouterValue } from "../../../shared/schema/settings/auto-router.ts";
import { answeredTags, classifiedText, classifierBody } from "../../domain/auto-route/classifier.ts";
import { verdictKey } from "../../domain/auto-route/verdict-cache.ts";
import type { JsonObject } from "../../domain/json/document.ts";
import { autoSettingsRev, mustBeCurrent, principalRevs } from "../access/freshness.ts";
import type { Call } from "../call/context.ts";
import type { Parsed } from "../call/known.ts";
import { currentModel, unbilledCall } from "../sub-call.ts";

/** What is to be classified. */
interface Classified {
  readonly settings: AutoRouterValue;
  /** Their revision; null: nobody has set them. */
  readonly settingsRev: number | null;
  /** The tags to choose from. */
  readonly vocabulary: readonly string[];
  readonly userTexts: readonly string[];
}

/** The tags, which may be none; null: the classifier is off, or has not answered. Throws ClientGone. */
export async function classify(call: Call, caller: Parsed, classified: Classified): Promise<readonly string[] | null> {
  const { settings, vocabulary, userTexts } = classified;
  const { classifier_enabled: enabled, classifier_model: name } = settings;
  const text = classifiedText(userTexts);
  if (!enabled || name === null || text === null || vocabulary.length === 0) return null;
  const { verdicts } = call.memory.autoRouter;
  const key = verdictKey(vocabulary, text);
  const known = verdicts.find(key, call.ports.clock());
  if (known !== null) return known;
  const answer = await ask(call, caller, classified, classifierBody(vocabulary, text));
  const tags = answer === null ? null : answeredTags(answer.value, vocabulary);
  if (tags === null) call.ports.log.event("auto_classifier_failed", { request_id: call.requestId, model: name });
  else verdicts.keep(key, tags, call.ports.clock());
  return tags;
}

/**
 * The classifier's answer as JSON; null: there is none that can be used. Nothing is asked by settings, or for a caller,
 * that the Cell knows to be old (docs/rules/freshness.md#every-use-compares): admission has such a request judged again.
 * Throws ClientGone.
 */
async function ask(
  call: Call,
  caller: Parsed,
  { settings: { classifier_model: name, classifier_timeout_ms: timeoutMs }, settingsRev }: Classified,
  body: JsonObject,
): Promise<{ readonly value: unknown } | null> {
  try {
    const ofSettings = settingsRev === null ? [] : [autoSettingsRev(settingsRev)];
    await mustBeCurrent(call, [...ofSettings, ...principalRevs(call, caller.principal)]);
    const model = name === null ? null : await currentModel(call, name);
    if (model === null) return null;
    const answer = await unbilledCall(call, caller, { model, body, timeoutMs });
    return answer.kind === "answered" && answer.status >= 200 && answer.status < 300 ? answer : null;
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}
