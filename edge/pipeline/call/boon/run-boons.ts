/**
 * Runs the boons of a request that has a slot, in their order, before it goes upstream (docs/rules/boons.md#order). Every boon
 * fails open: without it the request continues unchanged.
 */
import { rootCause } from "../../../../shared/text/root-cause.ts";
import { writtenEdits } from "../../../domain/upstream/request-body.ts";
import { ClientGone } from "../client-gone.ts";
import type { Call } from "../context.ts";
import { inTurns } from "../in-turns.ts";
import { type BoonReport, NO_BOONS, type Prepared } from "../known.ts";
import type { AnswerStage } from "./answer-stage.ts";
import type { Boon, BoonEffect, BoonWork } from "./boon.ts";
import { directivesOf } from "./directives.ts";
import { RequestDraft } from "./request-draft.ts";

/** A request for the upstream, and the stages of its answer. */
interface Boosted<K extends Prepared> {
  readonly request: K;
  readonly stages: readonly AnswerStage[];
}

/**
 * The request with the changes of its boons, which are run in the order of `boons`; their answer stages run in the same
 * order. Throws ClientGone.
 */
export async function runBoons<K extends Prepared>(
  call: Call,
  request: K,
  boons: readonly Boon[],
): Promise<Boosted<K>> {
  const { off, lossy } = directivesOf(call);
  if (request.boons === null || boons.length === 0 || off) return { request, stages: [] };
  const draft = new RequestDraft(request.parsed.outgoing, async (work) => await inTurns(call, work));
  const { settings } = request.boons;
  const work: BoonWork = { call, request, settings, draft, directive: { lossy }, ownTools: [] };
  const effects: (readonly [Boon, BoonEffect])[] = [];
  for (const boon of boons) {
    const effect = await applied(boon, work);
    if (effect !== null) effects.push([boon, effect]);
  }
  if (effects.length === 0) return { request, stages: [] };
  const parsed = { ...request.parsed, edits: await inTurns(call, writtenEdits(draft.edits)) };
  const stages = effects.flatMap(([{ name }, { answer }]) => (answer === null ? [] : [watched(call, name, answer)]));
  return { request: { ...request, parsed, boonReport: reportOf(effects) }, stages };
}

/** The result of a failed boon. */
const FAILED: BoonEffect = { applied: false, warnings: [], answer: null };

/** Null: the boon does not apply, which does not count as a run. */
async function applied(boon: Boon, work: BoonWork): Promise<BoonEffect | null> {
  const { boonRuns } = work.call;
  const { clock } = work.call.ports;
  const beganMs = clock();
  try {
    const effect = await work.draft.attempt(async () => await boon.apply(work));
    if (effect !== null) boonRuns.ran(boon.name, outcomeOf(effect), clock() - beganMs);
    for (const warning of effect?.warnings ?? []) boonRuns.warned(warning);
    return effect;
  } catch (error) {
    if (error instanceof ClientGone) throw error;
    boonRuns.ran(boon.name, "failed", clock() - beganMs);
    work.call.ports.log.event("boon_failed", {
      boon: boon.name,
      request_id: work.call.requestId,
      reason: rootCause(error),
    });
    return FAILED;
  }
}

/** A stage whose failures are recorded: it warns, throws, or answers with an error. */
function watched(call: Call, name: Boon["name"], stage: AnswerStage): AnswerStage {
  const { boonRuns } = call;
  return async (answer, report) => {
    const warn = (warning: string): void => {
      boonRuns.failed(name);
      boonRuns.warned(warning);
      report.warn(warning);
    };
    try {
      const after = await stage(answer, { ...report, warn });
      if (after.status >= 400) boonRuns.failed(name);
      return after;
    } catch (error) {
      if (!(error instanceof ClientGone) && !call.request.signal.aborted) boonRuns.failed(name);
      throw error;
    }
  };
}

/** A boon that changed nothing and says why has failed. */
function outcomeOf({ applied: acted, warnings }: BoonEffect): "hit" | "none" | "failed" {
  if (acted) return "hit";
  return warnings.length > 0 ? "failed" : "none";
}

function reportOf(effects: readonly (readonly [Boon, BoonEffect])[]): BoonReport {
  return {
    applied: effects.flatMap(([{ name }, effect]) => (effect.applied ? [name] : [])),
    warnings: effects.flatMap(([, { warnings }]) => warnings),
    failed: effects.some(([, effect]) => effect === FAILED),
    compression: effects.reduce<BoonReport["compression"]>(
      (found, [, { compression }]) => compression ?? found,
      NO_BOONS.compression,
    ),
  };
}
