/**
 * The changes of transforms to a request at one upstream: everything that was planned, except what this upstream is
 * known to refuse (docs/rules/streams.md#usage-event).
 */
import type { ModelRecord } from "../../../shared/records.ts";
import type { Target } from "../../domain/upstream/endpoint-order.ts";
import { isNamedIn, namesWithin, refusalIn, tellingNames } from "../../domain/upstream/named-refusal.ts";
import { writtenEdits } from "../../domain/upstream/request-body.ts";
import type { MemberEdits, TransformPlan } from "../../domain/upstream/transform.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
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
 * The plans for a request: the changes by boons, and the transforms of the resulting body. Only a JSON document is transformed:
 * every other body goes upstream unchanged. The answer of a sub-call is not transformed: the gateway reads it itself, its usage
 * too.
 */
export async function planTransforms(call: Call, { model, parsed }: Resolved): Promise<readonly TransformPlan[]> {
  const { document, edits, outgoing } = parsed;
  if (outgoing.clientBytes === null) return [];
  const given = new Map<string, unknown>();
  for (const name of call.ports.transforms.members)
    if (outgoing.member !== null && document.root[name] !== undefined)
      given.set(name, await inTurns(call, outgoing.member(name)));
  const member = (name: string): unknown => (edits.has(name) ? edits.get(name) : given.get(name));
  const stream = asksForStream(parsed);
  const planned: TransformPlan[] = [];
  for (const plan of call.ports.transforms.plan({ route: call.route, model, stream, document, member }))
    planned.push({ ...plan, edits: await inTurns(call, writtenEdits(plan.edits)) });
  if (call.parentId !== null) return planned.map((plan) => ({ ...plan, response: null }));
  return edits.size === 0 ? planned : [{ name: "boons", edits, optional: false, response: null }, ...planned];
}

/** Whether the upstream is asked for a stream: a boon may need the whole answer. */
export function asksForStream({ edits, stream }: ParsedCall): boolean {
  return edits.has("stream") ? edits.get("stream") === true : stream;
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

/** The plans that an upstream refuses with an error that starts with `body`. */
export async function refusedPlans(
  { call, parsed }: Pick<Resolved, "parsed"> & Pick<PlannedRequest, "call">,
  plans: readonly TransformPlan[],
  body: Uint8Array,
): Promise<readonly TransformPlan[]> {
  const refusal = refusalIn(body);
  const named = plans.filter(({ optional, edits }) => optional && isNamedIn(refusal, edits));
  if (named.every(({ edits }) => edits.has(refusal.unsupported))) return named;
  const names = named.flatMap(({ edits }) => tellingNames(edits));
  const written = new Set<string>();
  for (const pieces of [parsed.outgoing.clientBytes ?? [], ...valuesOf(plans)])
    for (const name of await inTurns(call, namesWithin(pieces, names))) written.add(name);
  return named.filter(
    ({ edits }) => edits.has(refusal.unsupported) || !tellingNames(edits).some((name) => written.has(name)),
  );
}

/** What boons have written into the request, as JSON. */
function valuesOf(plans: readonly TransformPlan[]): readonly (readonly Uint8Array[])[] {
  const values = plans.flatMap(({ optional, edits }) => (optional ? [] : [...edits.values()]));
  return values
    .filter((value) => value !== undefined)
    .map((value) => [value instanceof Uint8Array ? value : new TextEncoder().encode(JSON.stringify(value))]);
}

/** Remembers that this upstream refuses these plans. */
export function noteRefusal({ call, model }: PlannedRequest, target: Target, refused: readonly TransformPlan[]): void {
  const { refusedTransforms } = call.memory;
  if (refusedTransforms.size >= REFUSALS_MAX) refusedTransforms.clear();
  for (const plan of refused) refusedTransforms.set(keyOf(plan, model, target), call.ports.clock() + REFUSED_MS);
}

/** All edits of the plans; of several of a member the last one. */
export function editsOf(plans: readonly TransformPlan[]): MemberEdits {
  return new Map(plans.flatMap(({ edits }) => [...edits]));
}

function keyOf({ name }: TransformPlan, { id, upstream_model }: ModelRecord, { apiBase }: Target): string {
  return JSON.stringify([name, id, upstream_model, apiBase]);
}
