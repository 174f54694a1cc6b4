/**
 * Step 3, second half: the model that the request names, its hot copy and its gates (docs/rules/routes.md#model-names,
 * docs/rules/errors.md#refusal-order). A refusal that rests on a copy in memory reads the record again first.
 */
import { mayUseModel } from "../../../shared/access/caller-access.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { isSafePath } from "../../../shared/network/upstream-url.ts";
import type { ModelRecord } from "../../../shared/records.ts";
import { readTags, TAGS_HEADER } from "../../domain/request/attribution.ts";
import { isServedPath } from "../../domain/request/path-rules.ts";
import { queryFault } from "../../domain/request/steering-fields.ts";
import { cutText } from "../../domain/wire/text/printable.ts";
import type { KnownTerms } from "../../ports.ts";
import { authenticateNow } from "../authenticate/authenticate-now.ts";
import { epochRev, modelRev, mustBeCurrent } from "../authenticate/freshness.ts";
import { boonSettingsOf } from "../call/boon/boon-settings.ts";
import { type Call, MODEL_TEXT_MAX } from "../call/context.ts";
import { type Authenticated, type Known, type Parsed, type Resolved, StageFailure } from "../call/known.ts";
import { fieldError } from "./field-error.ts";

/**
 * Checks a request before its body is read: the path as the client wrote it is safe to forward, and is served, and its tags are
 * valid. `prefix` precedes a name that is not forwarded, in which clients write a slash as `%2F`. Throws 400 `invalid_path` or
 * `validation_failed`, 404 `unknown_endpoint`.
 */
export function checkHead(call: Call, prefix?: string): void {
  const raw = /^https?:\/\/[^/?#]+([^?#]*)/.exec(call.request.url)?.[1] ?? "/";
  if (!isSafePath(prefix !== undefined && raw.startsWith(prefix) ? raw.replaceAll(/%2f/gi, "_") : raw))
    throw new GatewayError("invalid_path");
  if (!isServedPath(call.path)) throw new GatewayError("unknown_endpoint");
  const tags = readTags(call.request.headers.get(TAGS_HEADER));
  if (typeof tags !== "string") throw fieldError(tags);
}

/**
 * The same for a request to the upstream of a model, whose query must name nothing that steers it: upstreams read that
 * beside a body.
 */
export function checkModelHead(call: Call): void {
  checkHead(call);
  const fault = call.request.method === "POST" ? queryFault(call.search, call.config.passthroughFields) : null;
  if (fault !== null) throw fieldError(fault);
}

/**
 * The input, with the enabled record of the model that the body names, which the principal may use. Throws the failure of 403,
 * 404, or 503 `key_store_unavailable`, and any refusal of the current principal.
 */
export async function resolveModel<K extends Parsed>(call: Call, request: K): Promise<K & Resolved> {
  const { modelName } = request.parsed;
  let caller: Authenticated = request;
  let known: Known = request.model === null ? request : { ...request, model: null };
  try {
    // A name that cannot be registered is not looked up: with half of a surrogate pair, the store would get another
    // text.
    const registrable = modelName.length <= MODEL_TEXT_MAX && modelName.isWellFormed();
    const found = registrable ? await call.ports.directory.model(modelName) : null;
    const absent = (): GatewayError =>
      new GatewayError("model_not_found", { value: cutText(modelName, MODEL_TEXT_MAX) });
    if (found === null) throw absent();
    let model = found.record;
    if (!model.enabled && found.source === "memory") {
      const fresh = await call.ports.directory.model(modelName, { fresh: true });
      if (fresh === null) throw absent();
      model = fresh.record;
      if (fresh.source === "memory" && !model.enabled) await mustBeCurrent(call, [modelRev(model), epochRev(call)]);
    }
    if (!model.enabled || !mayUseModel(caller.principal, model.model_name)) {
      known = { ...known, model };
      if (!model.enabled) throw new GatewayError("model_disabled");
      caller = await authenticateNow(call, known);
      known = caller;
      if (!mayUseModel(caller.principal, model.model_name)) throw new GatewayError("model_not_permitted");
    }
    const energy = await energyTermsOf(call, model);
    const boons = await boonSettingsOf(call, model);
    return { ...request, principal: caller.principal, identity: caller.identity, model, energy, boons };
  } catch (error) {
    throw StageFailure.of(error, known);
  }
}

/** The energy terms of a model; null when it takes no part in energy accounting. */
export async function energyTermsOf(call: Call, model: ModelRecord): Promise<KnownTerms | null> {
  return model.energy_slots_per_node === 0 ? null : await call.ports.energy.terms();
}
