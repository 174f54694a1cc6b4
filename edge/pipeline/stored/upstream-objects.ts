/**
 * The objects that an upstream keeps, such as earlier answers, belong to the tenant that was given their ids, although all
 * tenants call an upstream with the same credential (docs/rules/routes.md#objects-of-upstreams).
 */
import { GatewayError } from "../../../shared/errors.ts";
import { namedObjects } from "../../domain/request/named-objects.ts";
import type { Target } from "../../domain/upstream/endpoint-order.ts";
import { type Billed, type BilledTokens, beyondCharged, partsWithin } from "../../domain/usage/billing.ts";
import { isJsonObject } from "../../domain/wire/json/document.ts";
import { cutText } from "../../domain/wire/text/printable.ts";
import type { ObjectPlace, TokenCounts } from "../../ports.ts";
import { type Call, MODEL_TEXT_MAX } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import type { ObjectUse, Resolved } from "../call/known.ts";
import { fieldError } from "../resolve-model/field-error.ts";

/** Most objects that a request may name, and of these the most that are looked for at once. */
const NAMED_MAX = 4_000;
const LOOKUP_MAX = 250;
/** Most ids of one answer that are remembered. */
const GIVEN_MAX = 1_000;
/** An answer that has waited so long for the store in all does not wait again, ms. */
const WAITED_MAX_MS = 2_000;

/**
 * The objects that the request names, and the upstreams that have made them. Throws 400, 404 `object_not_found` for one that
 * the tenant may not use, and 503 while their owners cannot be read.
 */
export async function checkNamedObjects(call: Call, { parsed, principal }: Resolved): Promise<ObjectUse> {
  const readsDocuments = call.route.estimate === "texts";
  const found = await inTurns(call, namedObjects(parsed.outgoing.clientBytes ?? [], NAMED_MAX, readsDocuments));
  if (found === null)
    throw fieldError({ param: "input", message: `a request can name at most ${NAMED_MAX} stored objects` });
  const named = [...found];
  const upstreams = new Set<string>();
  for (let from = 0; from < named.length; from += LOOKUP_MAX) {
    const part = named.slice(from, from + LOOKUP_MAX);
    const ids = part.map(([id]) => id);
    const places = await placesOf(call, principal.tenant.id, ids);
    for (const [at, [id, { field, isLookedUp }]] of part.entries()) {
      const place = places[at] ?? null;
      const isRepeated = place === "shared" && field === "input" && !isLookedUp;
      if (isRepeated || (place === null && (!isLookedUp || call.config.passesForeignObjects))) continue;
      if (place === null || typeof place === "string") throw objectNotFound(id, field);
      if (isLookedUp) upstreams.add(place.upstream);
    }
  }
  return { named: new Map(named.map(([id, { field }]) => [id, field])), upstreams: [...upstreams] };
}

/** The place of an object that the tenant was given. Throws 404 `object_not_found`, or 503. */
export async function placeOfObject(call: Call, tenantId: string, id: string): Promise<ObjectPlace> {
  const [place] = await placesOf(call, tenantId, [id]);
  if (typeof place !== "object" || place === null) throw objectNotFound(id, null);
  return place;
}

async function placesOf(call: Call, tenantId: string, ids: readonly string[]) {
  return await call.ports.upstreamObjects.places(tenantId, ids).catch((cause: unknown) => {
    throw new GatewayError("key_store_unavailable", { cause, headers: { "retry-after": "1" } });
  });
}

/**
 * The error for an object that is unknown, belongs to another tenant, or is gone with its endpoint: a client cannot distinguish
 * them.
 */
function objectNotFound(id: string, param: string | null): GatewayError {
  return new GatewayError("object_not_found", { value: cutText(id, MODEL_TEXT_MAX), param });
}

/**
 * Those of the ordered upstreams that have made the named objects: the same endpoint or, for another model of the same server,
 * the same address. Throws 404 `object_not_found` when there is none.
 */
export function madeBy(use: ObjectUse, targets: readonly Target[]): readonly Target[] {
  const { named, upstreams } = use;
  if (upstreams.length === 0) return targets;
  const exact = targets.filter(({ key }) => upstreams.every((upstream) => upstream === key));
  const isAt = (apiBase: string) => (upstream: string) => upstream === apiBase || upstream.endsWith(` ${apiBase}`);
  const made = exact.length > 0 ? exact : targets.filter(({ apiBase }) => upstreams.every(isAt(apiBase)));
  const [id, param] = [...named][0] ?? ["", null];
  if (made.length === 0)
    throw new GatewayError("object_not_found", {
      value: cutText(id, MODEL_TEXT_MAX),
      param,
      cause: "no enabled endpoint of the model has made it",
    });
  return made;
}

/** Takes the ids of one answer. */
interface AnswerIds {
  readonly add: (id: string) => void;
  /** Stores the objects added since the last call; undefined if there are none. Never rejects. */
  readonly remember: () => Promise<void> | undefined;
  /**
   * For an answer that its upstream makes without a reader: the part of its bill that no read of it has charged meanwhile;
   * undefined: all of it. Remembers the charge of this request. Never rejects.
   */
  readonly share: (billed: Billed) => Promise<Billed> | undefined;
}

/** Null: the answer has no id that a later request could name. */
export function answerIdsOf(call: Call, request: Resolved, target: Target): AnswerIds | null {
  const { parsed, principal, model, objects, estimate, endUser } = request;
  const { root } = parsed.document;
  if (call.request.method !== "POST" || !isKept(call, root)) return null;
  const made = { model: model.model_name, upstream: target.key };
  const estimated = root["background"] === true ? estimate : null;
  const place = (charged: TokenCounts | null): ObjectPlace =>
    charged === null ? made : { ...made, charged: { ...charged, endUser } };
  const given: string[] = [];
  // Objects that the client named are known already, or passed because nobody owns them.
  const seen = new Set(objects?.named.keys());
  const most = seen.size + GIVEN_MAX;
  let added: string[] = [];
  let waitedMs = 0;
  return {
    add: (id) => {
      if (seen.has(id) || seen.size >= most) return;
      seen.add(id);
      added.push(id);
    },
    remember: () => {
      if (added.length === 0) return undefined;
      const ids = added;
      added = [];
      given.push(...ids);
      const { clock, upstreamObjects } = call.ports;
      const sinceMs = clock();
      const isAwaited = waitedMs < WAITED_MAX_MS;
      return upstreamObjects.remember(principal.tenant.id, ids, place(estimated), isAwaited).then(() => {
        waitedMs += clock() - sinceMs;
      });
    },
    share: (billed) => {
      // the id that comes first is the one of the answer
      const [id] = given;
      if (estimated == null || id === undefined) return undefined;
      const within = {
        inputTokens: Math.min(billed.inputTokens, estimated.inputTokens),
        outputTokens: Math.min(billed.outputTokens, estimated.outputTokens),
      };
      const beyond = beyondCharged(model, billed, within);
      const { upstreamObjects } = call.ports;
      call.waitUntil(upstreamObjects.remember(principal.tenant.id, given, place(within)));
      if (beyond.inputTokens + beyond.outputTokens + beyond.costUsd === 0) return undefined;
      return upstreamObjects
        .takeOver(principal.tenant.id, id, beyond)
        .then((taken) => without(billed, beyond, taken ?? beyond));
    },
  };
}

/** The bill without the amounts that others have charged: of the part beyond the estimate, all that was not taken over. */
function without(billed: Billed, beyond: BilledTokens, taken: BilledTokens): Billed {
  const own = {
    inputTokens: billed.inputTokens - beyond.inputTokens + taken.inputTokens,
    outputTokens: billed.outputTokens - beyond.outputTokens + taken.outputTokens,
  };
  const costUsd = Math.max(0, billed.costUsd - beyond.costUsd + taken.costUsd);
  return { ...own, ...partsWithin(own, billed), costUsd };
}

/** Whether an answer may have ids that later requests name. */
function isKept({ route }: Call, root: Readonly<Record<string, unknown>>): boolean {
  if (route.requestType === "responses") return root["store"] !== false;
  if (route.requestType === "chat") return isJsonObject(root["audio"]);
  return route.requestType === "messages" && (root["container"] !== undefined || Array.isArray(root["tools"]));
}
