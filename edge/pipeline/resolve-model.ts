/**
 * Step 3: what is asked for. Path, body within the cap, the `model` field, then its hot copy and its gates (decisions
 * §17.2, §17.3). A refusal that rests on a copy in memory reads it anew first.
 */
import { isModelPermitted } from "../../shared/access-window.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { ModelRecord } from "../../shared/records.ts";
import { readJson } from "../domain/json-document.ts";
import { isSafePath } from "../domain/upstream-url.ts";
import { authenticateNow } from "./authenticate-now.ts";
import type { Call, ParsedCall } from "./context.ts";
import { JsonOutgoing } from "./json-outgoing.ts";
import { readBody } from "./read-body.ts";

/** Text of a refused model in rows, in characters. */
const MODEL_TEXT_MAX = 200;

/** The path as the client wrote it is safe to forward. Throws 400 `invalid_path`. */
export function checkPath(call: Call): void {
  const raw = /^https?:\/\/[^/?#]+([^?#]*)/.exec(call.request.url)?.[1] ?? "/";
  if (!isSafePath(raw)) throw new GatewayError("invalid_path", noRetry);
}

/** Reads and parses the body. Throws 400 or 413. */
export async function parseCall(call: Call): Promise<ParsedCall> {
  const bytes = await readBody(call.request, call.config.maxBodyBytes);
  const document = readJson(bytes);
  if (document === null) throw new GatewayError("invalid_json", noRetry);
  const name = document.root["model"];
  const modelName = typeof name === "string" ? name.trim() : "";
  if (modelName === "" || typeof name !== "string") throw new GatewayError("model_required", noRetry);
  call.facts.modelText = name.slice(0, MODEL_TEXT_MAX);
  return {
    document,
    modelName: name,
    stream: document.root["stream"] === true,
    outgoing: new JsonOutgoing(bytes, document.root),
  };
}

/**
 * The enabled record of a model name, which the principal of the call may use. Throws 403, 404, or 503
 * `key_store_unavailable`, and whatever a principal that is read anew is refused with.
 */
export async function resolveModel(call: Call, modelName: string): Promise<ModelRecord> {
  const found = await call.ports.directory.model(modelName);
  if (found === null) throw new GatewayError("model_not_found", { value: modelName.slice(0, MODEL_TEXT_MAX) });
  let model = found.record;
  if (!model.enabled && found.source === "memory") {
    const fresh = await call.ports.directory.model(modelName, { fresh: true });
    if (fresh === null) throw new GatewayError("model_not_found", { value: modelName.slice(0, MODEL_TEXT_MAX) });
    model = fresh.record;
  }
  call.facts.model = model;
  if (!model.enabled) throw new GatewayError("model_disabled");
  const { principal } = call.facts;
  if (principal !== null && !isModelPermitted(principal.tenant, model.model_name)) {
    const { tenant } = await authenticateNow(call);
    if (!isModelPermitted(tenant, model.model_name)) throw new GatewayError("model_not_permitted");
  }
  return model;
}

const noRetry = { headers: { "x-should-retry": "false" } };
