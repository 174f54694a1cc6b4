/**
 * Fields of a body with which a client reaches past the model that it may use: upstreams read them beside `model`
 * (docs/rules/routes.md#fields-that-steer). They are refused unless the operator lets them pass by name.
 */
import type { Steps } from "../../../shared/steps.ts";
import { PATH_NAME_MAX, stringPlaces } from "../wire/json/string-places.ts";
import { printable } from "../wire/text/printable.ts";
import { type FieldFault, foldedName, isCheckedName } from "./client-fields.ts";

/** The effects of fields, and their names; a star stands for all names that start so. */
const STEERING = {
  // OpenRouter, LiteLLM, Vercel and Groq; old clients of OpenAI; SGLang, vLLM, TGI, LoRAX, llama.cpp, Together and LocalAI
  "choose another model":
    "models model_list model_id target_model_names fallback* context_window_fallbacks content_policy_fallbacks default_fallbacks route router* routing* provider providers provider_options gateway preset plugins user_config custom_llm_provider compound_custom engine deployment deployment_id deployment_name safety_model lora* image_loras adapter* merged_adapters draft_model* speculative* model_base_name tags",
  // LiteLLM, LoRAX, Azure, IBM; LocalAI; Dynamo, vLLM, SGLang
  "choose another server or account":
    "api_base base_url api_key api_token api_type organization project project_id space_id wx_credentials specific_deployment allowed_model_region region_name headers extra_headers default_headers extra_query default_query litellm* use_litellm_proxy deployment_url sagemaker_base_url s3_endpoint_url data_sources openai_* aws_* azure_* vertex_* watsonx_* oci_* backend backend_instance_id worker_id prefill_worker_id decode_worker_id dp_rank routed_dp_rank data_parallel_rank prefill_dp_rank decode_dp_rank",
  // vLLM, SGLang, TensorRT-LLM, LMDeploy
  "make the model server connect to another one, or use the state of another request":
    "kv_transfer_params ec_transfer_params remote_* bootstrap_* disagg* migration_request session_params",
  // LiteLLM
  "change prices, make up the answer or send the request to another service":
    "input_cost* output_cost* cache_creation_input_token_cost* cache_read_input_token_cost* base_model model_info mock_* langfuse* langsmith* arize* humanloop* posthog* gcs_* callbacks success_callback failure_callback",
  // SGLang, vLLM, Transformers
  "run code in the model server":
    "custom_logit_processor logit_processors logits_processors custom_generate trust_remote_code",
  // SGLang, vLLM, Dynamo, llama.cpp
  "go before other requests": "priority strict_priority id_slot slot_id",
  // vLLM, SGLang, Dynamo
  "give the model a prompt that is no text": "prompt_embeds prompt_token_ids input_embeds token_data",
} as const;

/** The names, or the start of them. */
export const STEERING_NAMES: readonly string[] = Object.values(STEERING).flatMap((names) =>
  names.replaceAll("*", "").split(" "),
);

/**
 * Fields whose own fields a server reads like those of the body, or of the model's call: known ones, and fields whose name has
 * their form. A template's arguments may have any name, so they are not among them.
 */
const HOLDER =
  /^(?:nvext|agenthints|params|parameters|options|(?:extra|additional|model|generation|inference|sampling|request|engine|vllm|sglang)(?:body|x?args|kwargs|params|parameters|options|config|fields))$/;
/** This one replaces fields of the body. */
const REPLACING = "extrabody";
/** Members that it may not replace either: policies read the texts of the body's own members as one. */
const READ_AS_ONE = /^(?:messages|prompt|input|tools|functions|system|instructions)$/;
/** A holder deeper than this is one by which somebody hides fields. */
const DEPTH_MAX = 4;
const HIDING = "hide others";
/** No longer name means anything: of one only so many characters are compared. */
const NAME_MAX = 256;
/** The longest path in an error, in characters. */
const PARAM_MAX = 100;

/** What each of them can do, by its name or the start of it. */
const NAMED = new Map<string, string>();
const STARTS = new Map<string, string>();
for (const [does, names] of Object.entries(STEERING))
  for (const name of names.split(" ").map(squashed))
    (name.endsWith("*") ? STARTS : NAMED).set(name.replace("*", ""), does);

/** The longest of them. */
const KNOWN_MAX = Math.max(...[...NAMED.keys(), ...STARTS.keys()].map((name) => name.length));

/** The name by which fields are compared: some servers take another case, camel case, or a blank for `_`. */
export function squashed(name: string): string {
  return foldedName(name.slice(0, NAME_MAX)).replaceAll(/[\s_-]/g, "");
}

/**
 * Whether {@link steeringFault} must see the field, or {@link steeringWithin} its value. The operator can only allow names of
 * this kind.
 */
export function mayConcernSteering(name: string): boolean {
  const known = squashed(name);
  return HOLDER.test(known) || whatItDoes(known) !== null;
}

/** Whether the step of a path may be a name that was cut before all that is compared of it. */
export function isCutName(step: string): boolean {
  return step.length === PATH_NAME_MAX && squashed(step).length < KNOWN_MAX;
}

/** Whether the fields of this field count like those of the body. */
export function isHolder(name: string): boolean {
  return HOLDER.test(squashed(name));
}

/** The fault of a field of a body; null: none. `allowed`: what passes nevertheless. */
export function steeringFault(name: string, allowed: ReadonlySet<string>): FieldFault | null {
  const does = whatPathDoes([name], allowed);
  return does === null ? null : faultOf("field", name, does);
}

/** The fault of a field of a form, or of one in it, such as `extra_body[0][models]`; null: none. */
export function formSteeringFault(name: string, allowed: ReadonlySet<string>): FieldFault | null {
  const does = whatNameDoes(name, allowed);
  return does === null ? null : faultOf("field", name, does);
}

/** The fault of the first parameter of a query that some server reads instead of a field; null: none. `hasBody`: it may have fields. */
export function queryFault(search: string, allowed: ReadonlySet<string>, { hasBody = true } = {}): FieldFault | null {
  for (const name of queryNames(search)) {
    const does = whatNameDoes(name, allowed, ...(hasBody ? [REPLACING] : []));
    if (does !== null) return faultOf("query parameter", name, does);
  }
  return null;
}

/** The names of a query's parameters; some servers separate them by `;` as well. */
export function queryNames(search: string): readonly string[] {
  return [...new URLSearchParams(search.replaceAll(";", "&")).keys()];
}

/** The steps of a name such as `a[0].b`, in which some servers find fields in fields; numbers are left out. */
export function stepsOf(name: string): readonly string[] {
  return name.split(/[.[\]]+/).filter((step) => /\D/.test(step));
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
  const way = {
    top: inHolder(squashed(holder)),
    below: (up: Reached, step: string | number) => reached(up, step, allowed, text),
  };
  yield* stringPlaces([value], way, (path, isName, _span, known) => {
    if (faults.length > 0) return false;
    const does = isName ? known.does : whatTextDoes(known, allowed);
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

/** Known facts about the path to a field. */
interface Reached {
  /** Its effect, when every field before it is a holder; null if it has none. */
  readonly does: string | null;
  /** The last field, if all are holders that do nothing. */
  readonly holder: string | null;
  readonly depth: number;
}

function inHolder(holder: string): Reached {
  return { does: null, holder, depth: 0 };
}

function reached(up: Reached, step: string | number, allowed: ReadonlySet<string>, text = asItIs): Reached {
  if (up.holder === null || up.does !== null) return up;
  const depth = up.depth + 1;
  // an element of a list counts like the list
  if (typeof step === "number") return { ...up, depth, does: depth > DEPTH_MAX ? HIDING : null };
  const own = text(step);
  const name = squashed(own);
  const does = whatFieldDoes(own, name, up.holder, allowed);
  if (does !== null) return { does, holder: null, depth };
  const isHolding = HOLDER.test(name);
  if (isCutName(step) || (isHolding && depth > DEPTH_MAX)) return { does: HIDING, holder: null, depth };
  return { does, holder: isHolding ? name : null, depth };
}

function whatFieldDoes(own: string, name: string, holder: string, allowed: ReadonlySet<string>): string | null {
  const does = allowed.has(name) ? null : whatItDoes(name);
  if (does !== null) return does;
  const isReplaced = holder === REPLACING && (isCheckedName(own.trim()) || READ_AS_ONE.test(name));
  return isReplaced ? "replace a field of the body" : null;
}

/** The effect of the last of these fields, each in the one before it. */
function whatPathDoes(path: readonly string[], allowed: ReadonlySet<string>, above = ""): string | null {
  return path.reduce((up, name) => reached(up, name, allowed), inHolder(above)).does;
}

/** The same for a name with steps. A holder is refused whole: its value is a text, which servers read as JSON. */
function whatNameDoes(name: string, allowed: ReadonlySet<string>, above = ""): string | null {
  const path = stepsOf(name);
  const does = whatPathDoes(path, allowed, above);
  const last = path.at(-1);
  if (does !== null || last === undefined || !path.every(isHolder) || allowed.has(squashed(last))) return does;
  return "have fields of its own";
}

/** The effect of a text: as the value of a holder it may be JSON, which some server reads. */
function whatTextDoes({ holder }: Reached, allowed: ReadonlySet<string>): string | null {
  return holder === null || allowed.has(holder) ? null : "hide others in a text";
}

function asItIs(name: string): string {
  return name;
}

/** In JSON too, some servers read a name such as `models[0]` or `extra_body.models` as several steps. */
function whatItDoes(name: string): string | null {
  const [first = ""] = name.split(/[.[]/, 1);
  const does = NAMED.get(first);
  if (does !== undefined) return does;
  for (const [start, can] of STARTS) if (first.startsWith(start)) return can;
  return first !== name && HOLDER.test(first) ? HIDING : null;
}
