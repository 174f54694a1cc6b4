/**
 * What transforms do to a request at one upstream: everything that was planned, but what this upstream is known to refuse
 * (docs/rules/streams.md#usage-event).
 */
import type { ModelRecord } from "../../../shared/records.ts";
import type { MemberEdit, TransformPlan } from "../../domain/transform/transform.ts";
import type { Target } from "../../domain/upstream/endpoint-order.ts";
import type { Call } from "../call/context.ts";
import type { Resolved } from "../call/known.ts";

/** How long an upstream that refuses a transform is remembered. */
const REFUSED_MS = 10 * 60 * 1000;

/** Refusals that are remembered; forgetting one costs a call. */
const REFUSALS_MAX = 1000;

/** A request with what is planned for it, and the model that answers it. */
interface PlannedRequest {
  readonly call: Call;
  readonly model: ModelRecord;
  readonly plans: readonly TransformPlan[];
}

/**
 * What is planned for a request of a client. Only a JSON document is transformed: every other body goes upstream as it came. A
 * sub-call is what a transform made it.
 */
export function planTransforms(call: Call, { model, parsed }: Resolved): readonly TransformPlan[] {
  if (parsed.outgoing.clientBytes === null || call.parentId !== null) return [];
  const { document, stream } = parsed;
  return call.ports.transforms.plan({ route: call.route, model, stream, document });
}

/** Of the plans those that this upstream is not known to refuse. */
export function acceptedPlans({ call, model, plans }: PlannedRequest, target: Target): readonly TransformPlan[] {
  const { refusedTransforms } = call.memory;
  if (plans.length === 0 || refusedTransforms.size === 0) return plans;
  return plans.filter((plan) => {
    const untilMs = refusedTransforms.get(keyOf(plan, model, target));
    return untilMs === undefined || untilMs <= call.ports.clock();
  });
}

/** Remembers that this upstream refuses these plans. */
export function noteRefusal({ call, model }: PlannedRequest, target: Target, refused: readonly TransformPlan[]): void {
  const { refusedTransforms } = call.memory;
  if (refusedTransforms.size >= REFUSALS_MAX) refusedTransforms.clear();
  for (const plan of refused) refusedTransforms.set(keyOf(plan, model, target), call.ports.clock() + REFUSED_MS);
}

/** All edits of the plans, in order. */
export function editsOf(plans: readonly TransformPlan[]): readonly MemberEdit[] {
  return plans.flatMap(({ edits }) => edits);
}

function keyOf({ name }: TransformPlan, { id, upstream_model }: ModelRecord, { apiBase }: Target): string {
  return JSON.stringify([name, id, upstream_model, apiBase]);
}
