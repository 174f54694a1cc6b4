/**
 * Step 3 for the model name `auto` (docs/rules/auto-router.md): the gateway chooses the model. A request that is checked again
 * keeps its model while that is a candidate and was not chosen provisionally; otherwise a model is chosen again, among the
 * store's current models.
 */
import { mayUseModel } from "../../../shared/access/caller-access.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { FALLBACK_MODELS_MAX } from "../../../shared/fields/model-fields.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import { autoRouterValueSchema } from "../../../shared/schema/settings/auto-router.ts";
import { boonEvent } from "../../domain/cell/event-counters.ts";
import { type CandidateRules, exclusionOf } from "../../domain/request/model-choice/candidates.ts";
import { rankModels, type ScoredModel, vocabularyOf } from "../../domain/request/model-choice/choose-model.ts";
import { heuristicTags } from "../../domain/request/model-choice/heuristics.ts";
import { type RequestTraits, requestTraits } from "../../domain/request/model-choice/request-traits.ts";
import { estimateTokens } from "../../domain/request/token-estimate.ts";
import type { OpenSpan } from "../../domain/trace/trace.ts";
import { authenticateNow } from "../authenticate/authenticate-now.ts";
import { boonSettingsOf, readBoonSettings } from "../call/boon/boon-settings.ts";
import { directivesOf } from "../call/boon/directives.ts";
import type { Call } from "../call/context.ts";
import { guardsOf } from "../call/guards.ts";
import { settingsReader } from "../call/hot-settings.ts";
import { inTurns } from "../call/in-turns.ts";
import { type Authenticated, type Parsed, type Resolved, StageFailure } from "../call/known.ts";
import { withSpan } from "../call/report/spans.ts";
import { energyTermsOf } from "../resolve-model/resolve-model.ts";
import { classify, OUTDATED } from "./classify.ts";

const PATH = "/v1/chat/completions";
const NAME = "auto";
/** Most models of each list in the explanation of a choice. */
const EXPLAINED_MAX = 20;
/** Decimals of a score in the explanation. */
const SCORE_DECIMALS = 4;

const DEFAULT_SETTINGS = autoRouterValueSchema.parse({});
const readAutoSettings = settingsReader("auto_router", (value) => autoRouterValueSchema.safeParse(value).data);

/** Whether the client lets the gateway choose the model. */
export function isAutoRequest(call: Call, { parsed }: Parsed): boolean {
  return parsed.modelName === NAME && call.path === PATH && call.request.method === "POST";
}

/**
 * The input, with the chosen model. Throws the failure of 503 `no_model_available` or `key_store_unavailable`, any refusal of
 * the current principal, and ClientGone.
 */
export async function resolveAuto<K extends Parsed>(call: Call, request: K): Promise<K & Resolved> {
  const { document } = request.parsed;
  const estimate = await inTurns(call, estimateTokens(call.route.estimate, document, call.route.limits));
  const traits = await inTurns(call, requestTraits(document, estimate));
  try {
    const known = await readAutoSettings(call);
    const settingsRev = known?.rev ?? null;
    const { auto: before } = request;
    const isSettled = before !== null && !before.isProvisional && before.settingsRev === settingsRev;
    const kept = isSettled ? await keptModel(call, request, traits) : null;
    const settings = known?.settings ?? DEFAULT_SETTINGS;
    const { caller, model, isProvisional, others } =
      kept === null
        ? await choose(call, request, { traits, settings, settingsRev })
        : { caller: request, model: kept, isProvisional: false, others: before?.others ?? [] };
    const energy = await energyTermsOf(call, model);
    const boons = await boonSettingsOf(call, model);
    const { principal, identity } = caller;
    return { ...request, principal, identity, model, energy, boons, auto: { settingsRev, isProvisional, others } };
  } catch (error) {
    const { cause, known } = StageFailure.of(error, request);
    throw new StageFailure(cause, { ...known, model: null, auto: null });
  }
}

/** The chosen model of a request that is checked again, in its current state; null: it has none that may still answer. */
async function keptModel(call: Call, request: Parsed, traits: RequestTraits): Promise<ModelRecord | null> {
  const { model: before } = request;
  if (before === null) return null;
  const found = await call.ports.directory.model(before.model_name);
  if (found === null) return null;
  // The list of models may have been newer than the copy in memory.
  const model = found.record.rev < before.rev ? before : found.record;
  const rules = await rulesOf(call, request, traits, await call.memory.autoRouter.models(call.ports, false));
  return exclusionOf(model, rules) === null ? model : null;
}

/** The inputs of a choice other than the caller and the models. */
interface ChoiceTerms {
  readonly traits: RequestTraits;
  readonly settings: typeof DEFAULT_SETTINGS;
  /** Null: they have never been set. */
  readonly settingsRev: number | null;
}

interface Choice {
  readonly caller: Authenticated;
  readonly model: ModelRecord;
  readonly isProvisional: boolean;
  readonly others: readonly string[];
}

/** The caller and the model that may answer; the run is counted. Throws the failure of 503, and ClientGone. */
async function choose(call: Call, request: Parsed, terms: ChoiceTerms): Promise<Choice> {
  const { clock, events } = call.ports;
  const beganMs = clock();
  try {
    const choice = await chooseModel(call, request, terms);
    events.count(boonEvent("auto_route", "hit", clock() - beganMs));
    return choice;
  } catch (error) {
    events.count(boonEvent("auto_route", "failed", clock() - beganMs));
    throw error;
  }
}

async function chooseModel(call: Call, request: Parsed, terms: ChoiceTerms): Promise<Choice> {
  return await withSpan(call, "auto_route", async (span) => {
    const { autoRouter } = call.memory;
    // A choice that did not hold rested on a list that is outdated.
    const isAgain = request.auto !== null;
    let models = await autoRouter.models(call.ports, isAgain);
    let caller: Authenticated = request;
    let found = await candidatesOf(call, caller, terms.traits, models);
    if (found.candidates.length === 0) {
      caller = await authenticateNow(call, request);
      if (!isAgain) models = await autoRouter.models(call.ports, true);
      found = await candidatesOf(call, caller, terms.traits, models);
    }
    const { principal, identity } = caller;
    const asked = { ...request, principal, identity };
    const { tags, source, isProvisional } = await tagsOf(call, asked, terms, found.candidates);
    const load = await autoRouter.load(call.ports);
    const { inFlight, chosen } = load;
    const ranked = rankModels(found.candidates, tags, (name) => (inFlight.get(name) ?? 0) + (chosen.get(name) ?? 0));
    const model = ranked[0]?.model;
    explain(span, { ranked, excluded: found.excluded, tags, source });
    if (model === undefined) throw new StageFailure(new GatewayError("no_model_available"), caller);
    chosen.set(model.model_name, (chosen.get(model.model_name) ?? 0) + 1);
    const others = ranked.slice(1, 1 + FALLBACK_MODELS_MAX).map((other) => other.model.model_name);
    return { caller, model, isProvisional, others };
  });
}

interface Candidates {
  readonly candidates: readonly ModelRecord[];
  /** `name: condition` of every other model; those that the caller may use come first, because only 20 are kept. */
  readonly excluded: readonly string[];
}

async function candidatesOf(
  call: Call,
  caller: Authenticated,
  traits: RequestTraits,
  models: readonly ModelRecord[],
): Promise<Candidates> {
  const rules = await rulesOf(call, caller, traits, models);
  const candidates: ModelRecord[] = [];
  const excluded: string[] = [];
  const ofOthers: string[] = [];
  for (const model of models) {
    const exclusion = exclusionOf(model, rules);
    if (exclusion === null) candidates.push(model);
    else (rules.isPermitted(model.model_name) ? excluded : ofOthers).push(`${model.model_name}: ${exclusion}`);
  }
  return { candidates, excluded: [...excluded, ...ofOthers] };
}

async function rulesOf(
  call: Call,
  { principal }: Authenticated,
  { needs }: RequestTraits,
  models: readonly ModelRecord[],
): Promise<CandidateRules> {
  const boons = needs.jsonAnswer || needs.vision ? await readBoonSettings(call) : null;
  const settings = boons === null || directivesOf(call).off ? null : boons.settings;
  const seeing = settings?.vision_fallback_model ?? null;
  const isOn = {
    structured_output: settings?.structured_output_enabled === true,
    vision:
      settings?.vision_enabled === true &&
      models.some(({ model_name, enabled, supports }) => model_name === seeing && enabled && supports.vision),
  };
  return {
    needs,
    nowMs: call.ports.clock(),
    isPermitted: (modelName) => mayUseModel(principal, modelName),
    isBoonEffective: (model, boon) => isOn[boon] && model.boons.includes(boon),
  };
}

type TagSource = "classifier" | "heuristic" | "none";

/**
 * The tags that a model should have: the classifier's, or else those of the heuristics. The classifier gets no text of a tenant
 * whose input is blocked or redacted: such input is examined later (docs/rules/auto-router.md#classifier). Throws ClientGone.
 */
async function tagsOf(
  call: Call,
  request: Parsed,
  { traits, settings, settingsRev }: ChoiceTerms,
  candidates: readonly ModelRecord[],
): Promise<{ readonly tags: readonly string[]; readonly source: TagSource; readonly isProvisional: boolean }> {
  const { userTexts } = traits;
  const guards = guardsOf(request.principal.tenant, "input");
  const mayAsk = guards === null || guards.action === "log_only";
  const terms = { settings, settingsRev, vocabulary: vocabularyOf(candidates), userTexts };
  const classified = mayAsk ? await classify(call, request, terms) : null;
  const isProvisional = classified === OUTDATED;
  if (classified !== null && !isProvisional && classified.length > 0)
    return { tags: classified, source: "classifier", isProvisional };
  const tags = heuristicTags(traits);
  return { tags, source: tags.length === 0 ? "none" : "heuristic", isProvisional };
}

/** Writes into the span why a model was chosen (docs/rules/auto-router.md#explanation). */
function explain(
  span: OpenSpan,
  choice: {
    readonly ranked: readonly ScoredModel[];
    readonly excluded: readonly string[];
    readonly tags: readonly string[];
    readonly source: TagSource;
  },
): void {
  const best = choice.ranked.slice(0, EXPLAINED_MAX);
  span.set({
    chosen: best[0]?.model.model_name ?? null,
    source: choice.source,
    tags: choice.tags,
    candidates: best.map(({ model }) => model.model_name),
    scores: best.map(({ score }) => Number(score.toFixed(SCORE_DECIMALS))),
    excluded: choice.excluded.slice(0, EXPLAINED_MAX),
  });
}
