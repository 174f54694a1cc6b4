/**
 * Fields of a body with which a client reaches past the model that it may use: upstreams read them beside `model`
 * (docs/rules/routes.md#fields-that-steer). They are refused unless the operator lets them pass by name.
 */
import type { Steps } from "../../../shared/steps.ts";
import { type JsonPath, stringPlaces } from "../wire/json/string-places.ts";
import { printable } from "../wire/text/printable.ts";
import { type FieldFault, foldedName, isJudgedName } from "./client-fields.ts";

/** What fields can do, and their names, with a star for all that begin so. */
const STEERING = {
  // OpenRouter, LiteLLM, Vercel and Groq; old clients of OpenAI; SGLang, vLLM, TGI, LoRAX, llama.cpp and Together
  "choose another model":
    "models model_list model_id fallback* context_window_fallbacks content_policy_fallbacks default_fallbacks route provider provider_options preset plugins user_config custom_llm_provider compound_custom engine deployment_id deployment_name lora* image_loras adapter* merged_adapters draft_model* speculative*",
  // LiteLLM, LoRAX, Azure
  "choose another server or account":
    "api_base base_url api_key api_token api_type organization headers extra_headers litellm_params litellm_credential_name deployment_url sagemaker_base_url s3_endpoint_url data_sources aws_* azure_* vertex_* watsonx_* oci_*",
  // vLLM, SGLang, TensorRT-LLM, LMDeploy
  "make the model server connect to another one, or use the state of another request":
    "kv_transfer_params ec_transfer_params remote_* bootstrap_* disagg* migration_request session_params",
} as const;

/** Fields whose own fields a server reads as those of the body, or of the model's call. */
const HOLDERS: ReadonlySet<string> = new Set(["extrabody", "parameters", "samplingparams", "options", "vllmxargs"]);
/** This one replaces fields of the body. */
const REPLACING = "extrabody";
/** A holder deeper than this is one by which somebody hides fields. */
const DEPTH_MAX = 4;
/** The longest path in an error, in characters. */
const PARAM_MAX = 100;

/** What each of them can do, by its name or the start of it. */
const NAMED = new Map<string, string>();
const STARTS = new Map<string, string>();
for (const [does, names] of Object.entries(STEERING))
  for (const name of squashed(names).split(" ")) (name.endsWith("*") ? STARTS : NAMED).set(name.replace("*", ""), does);

/** The name by which fields are compared: some servers take another case, or camel case. */
export function squashed(name: string): string {
  return foldedName(name).replaceAll(/[_-]/g, "");
}

/** Whether a field is refused unless the operator lets it pass. */
export function isSteering(name: string): boolean {
  return whatItDoes(squashed(name)) !== null;
}

/** Whether {@link steeringFault} must see the field, or {@link steeringWithin} its value. */
export function mayConcernSteering(name: string): boolean {
  const known = squashed(name);
  return HOLDERS.has(known) || whatItDoes(known) !== null;
}

/** Whether the fields of this one count like those of the body. */
export function isHolder(name: string): boolean {
  return HOLDERS.has(squashed(name));
}

/**
 * The fault of a field, or of one in a holder (in a form `extra_body[models]`); null: none. `allowed`: what passes all the same.
 */
export function steeringFault(path: string, allowed: ReadonlySet<string>): FieldFault | null {
  const does = whatPathDoes(path.split(/[.[\]]+/), allowed);
  return does === null ? null : faultOf("field", path, does);
}

/** The same in a form. Its holders are refused whole: their value is a text, which servers read as JSON. */
export function formSteeringFault(name: string, allowed: ReadonlySet<string>): FieldFault | null {
  const fault = steeringFault(name, allowed);
  return fault === null && isHolder(name) ? faultOf("field", name, "have fields of its own") : fault;
}

/** The fault of the first parameter of a query that some server reads instead of a field; null: none. */
export function queryFault(search: string, allowed: ReadonlySet<string>): FieldFault | null {
  for (const name of new URLSearchParams(search).keys()) {
    const does = whatPathDoes([REPLACING, name], allowed);
    if (does !== null) return faultOf("query parameter", name, does);
  }
  return null;
}

/** The fault of the first field in the value of a holder; null: none. `text`: a name as the client sent it. */
export function* steeringWithin(
  holder: string,
  value: Uint8Array,
  text: (name: string) => string,
  allowed: ReadonlySet<string>,
): Steps<FieldFault | null> {
  if (!isHolder(holder)) return null;
  const faults: FieldFault[] = [];
  yield* stringPlaces([value], (path, isName) => {
    const does = isName && faults.length === 0 ? whatPathDoes(path, allowed, text, squashed(holder)) : null;
    const steps = () => path.map((step) => (typeof step === "string" ? text(step) : step));
    if (does !== null) faults.push(faultOf("field", [holder, ...steps()].join("."), does));
    return false;
  });
  return faults[0] ?? null;
}

function faultOf(what: string, path: string, does: string): FieldFault {
  const param = printable(path, PARAM_MAX);
  return { param, message: `${what} '${param}' can ${does}; leave it out` };
}

/** What the field at the end of the path can do, when every field before it is a holder, as `above` is; null: nothing. */
function whatPathDoes(path: JsonPath, allowed: ReadonlySet<string>, text = asItIs, above = ""): string | null {
  let holder = above;
  for (const [depth, step] of path.entries()) {
    const own = typeof step === "string" ? text(step) : "";
    const name = squashed(own);
    const does = allowed.has(name) ? null : whatItDoes(name);
    if (does !== null) return does;
    if (holder === REPLACING && isJudgedName(own)) return "replace a field of the body";
    if (!HOLDERS.has(name)) return null;
    if (depth === DEPTH_MAX) return "hide others";
    holder = name;
  }
  return null;
}

function asItIs(name: string): string {
  return name;
}

function whatItDoes(name: string): string | null {
  const does = NAMED.get(name);
  if (does !== undefined) return does;
  for (const [start, can] of STARTS) if (name.startsWith(start)) return can;
  return null;
}
