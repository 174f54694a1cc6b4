/**
 * Asks the classifier model which tags fit a request (docs/rules/auto-router.md#classifier). Its upstream is called once,
 * without a slot, a row or a bill. Any failure leaves the request to the heuristics; only a client that leaves ends it. A
 * classifier that keeps failing is not called for a while, so that not all requests wait for its timeout.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { AutoRouterValue } from "../../../shared/schema/settings/auto-router.ts";
import { rootCause } from "../../../shared/text/root-cause.ts";
import { boonEvent } from "../../domain/cell/event-counters.ts";
import { answeredTags, classifiedText, classifierBody } from "../../domain/request/model-choice/classifier.ts";
import { verdictKey } from "../../domain/request/model-choice/verdict-cache.ts";
import { isRetryable } from "../../domain/upstream/retry-plan.ts";
import { autoSettingsRev, mustBeCurrent, principalRevs } from "../authenticate/freshness.ts";
import type { Call } from "../call/context.ts";
import type { Parsed } from "../call/known.ts";
import { currentModel, unbilledCall } from "../sub-call.ts";

/** The request to classify. */
interface Classified {
  readonly settings: AutoRouterValue;
  /** Their revision; null: they have never been set. */
  readonly settingsRev: number | null;
  /** The tags to choose from. */
  readonly vocabulary: readonly string[];
  readonly userTexts: readonly string[];
}

/** The copies by which the classifier would have been asked are older than the Cell knows. */
export const OUTDATED = Symbol("outdated");

/** The tags, which may be none; null: the classifier is off, or has not answered. Throws ClientGone. */
export async function classify(
  call: Call,
  caller: Parsed,
  classified: Classified,
): Promise<readonly string[] | null | typeof OUTDATED> {
  const { settings, vocabulary, userTexts } = classified;
  const { classifier_enabled: enabled, classifier_model: name } = settings;
  const text = classifiedText(userTexts);
  const isRefused = call.memory.autoRouter.refusedCallers.isFailing(caller.principal.key.key_id, call.ports.clock());
  if (isRefused || !enabled || name === null || text === null || vocabulary.length === 0) return null;
  const { verdicts } = call.memory.autoRouter;
  const key = verdictKey(vocabulary, text);
  const known = verdicts.find(key, call.ports.clock());
  if (known !== null) return known;
  const { clock, events, log } = call.ports;
  if (!(await isCurrent(call, caller, classified))) return OUTDATED;
  const beganMs = clock();
  const asked = await ask(call, caller, classified, text);
  const outcome = typeof asked === "string" ? "failed" : asked.length > 0 ? "hit" : "none";
  events.count(boonEvent("auto_classifier", outcome, clock() - beganMs));
  if (typeof asked === "string") {
    log.event("auto_classifier_failed", { request_id: call.requestId, model: name, reason: asked });
    return null;
  }
  verdicts.keep(key, asked, clock());
  return asked;
}

/**
 * False: the Cell knows newer settings, or a newer caller, so the classifier must not be called for these
 * (docs/rules/freshness.md#every-use-compares). Admission has such a request checked again.
 */
async function isCurrent(call: Call, caller: Parsed, { settingsRev }: Classified): Promise<boolean> {
  const ofSettings = settingsRev === null ? [] : [autoSettingsRev(settingsRev)];
  const reading = mustBeCurrent(call, [...ofSettings, ...principalRevs(call, caller.principal)]);
  return await reading.then(() => true, reasonOf).then((current) => current === true);
}

/** The tags that the classifier names, or why its answer is unusable. Throws ClientGone. */
async function ask(
  call: Call,
  caller: Parsed,
  { settings, vocabulary }: Classified,
  text: string,
): Promise<readonly string[] | string> {
  const { classifier_model: name, classifier_timeout_ms: timeoutMs } = settings;
  const { classifierFailures: failures } = call.memory.autoRouter;
  const { clock } = call.ports;
  const model = name === null ? null : await currentModel(call, name).catch(reasonOf);
  if (model === null) return "the model is not registered";
  if (typeof model === "string") return model;
  const server = `${model.id} ${model.rev}`;
  if (failures.isFailing(server, clock())) return "not asked for a while after several failures in a row";
  const body = classifierBody(vocabulary, text);
  const answer = await unbilledCall(call, caller, { model, body, timeoutMs }).catch(reasonOf);
  const status = typeof answer !== "string" && answer.kind === "answered" ? answer.status : 0;
  // An answer that only cannot be used may be due to the text: it must not keep other texts from the classifier.
  if (typeof answer === "string" || isRetryable({ status, retryAfterMs: null })) failures.failed(server, clock());
  else failures.answered(server);
  if (typeof answer === "string") return answer;
  if (answer.kind === "too-large") return "the answer is too large";
  if (status < 200 || status >= 300) return `answered ${status}`;
  return answeredTags(answer.value, vocabulary) ?? "the answer is not one of a chat model";
}

/** A failure of the gateway's own question is not a failure of the request. Throws everything else. */
function reasonOf(error: unknown): string {
  if (error instanceof GatewayError) return rootCause(error);
  throw error;
}
