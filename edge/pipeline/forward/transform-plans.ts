/**
 * The changes of transforms to a request at one upstream: everything that was planned, except what this upstream is
 * known to refuse (docs/rules/streams.md#usage-event).
 */
import type { ModelRecord } from "../../../shared/records.ts";
import type { Target } from "../../domain/upstream/endpoint-order.ts";
import type { MemberEdit, TransformPlan } from "../../domain/upstream/transform.ts";
import type { Call } from "../call/context.ts";
import type { ParsedCall, Resolved } from "../call/known.ts";

/** How long the gateway remembers that an upstream refuses a transform. */
const REFUSED_MS = 10 * 60 * 1000;

/** Most refusals that are remembered; a forgotten one costs one call. */
const REFUSALS_MAX = 1000;

/** A request with its plans, and the model that answers it. */
interface PlannedRequest {
  readonly call: Call;
  readonly model: ModelRecord;
  readonly plans: readonly TransformPlan[];
}

/**
 * The plans for a request: what guardrails and boons have changed of it, and the transforms of what goes upstream then.
 * Only a JSON document is transformed: every other body goes upstream as it came. The answer of a sub-call is not
 * transformed: the gateway reads it itself, its usage too.
 */
export function planTransforms(call: Call, { model, parsed }: Resolved): readonly TransformPlan[] {
  if (parsed.outgoing.clientBytes === null) return [];
  const { document, edits } = parsed;
  if (edits.length === 0 && call.parentId === null)
    return call.ports.transforms.plan({ route: call.route, model, stream: parsed.stream, document });
  const stream = sentStream(parsed);
  const planned = call.ports.transforms.plan({ route: call.route, model, stream, document });
  if (call.parentId !== null) return planned.map((plan) => ({ ...plan, response: null }));
  return [{ name: "boons", edits, optional: false, response: null }, ...planned];
}

/** Whether the upstream is asked for a stream: a boon may need the whole answer. */
function sentStream({ stream, edits }: ParsedCall): boolean {
  return edits.reduce<unknown>((given, { name, value }) => (name === "stream" ? value(given) : given), stream) === true;
}

/** The plans that this upstream is not known to refuse. */
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
