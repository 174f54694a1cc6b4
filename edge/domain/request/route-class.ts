/**
 * The class of a path (docs/rules/routes.md#path-classes, docs/rules/token-estimates.md#formulas,
 * docs/rules/settlement-and-rows.md#cost): the request type of its usage row, the rule that estimates it, the unit that it is
 * billed by, the limits of output that its API has, and whether its body is a form. The class follows from the end of the path,
 * whichever upstream serves it; only the documented paths require a model.
 */
import type { RequestType } from "../../../shared/usage/usage-row.ts";

/** Which part of a body is estimated. */
export type EstimateRule = "messages" | "prompt" | "input" | "texts" | "responses" | "speech" | "nothing" | "any";

/** The billed unit of a route; see shared/money/cost.ts. */
export type BilledBy = "tokens" | "input-tokens" | "images" | "characters" | "seconds" | "nothing";

/** Where a body has the limit of one API. */
interface OwnLimit {
  /** Paths of the limit, separated by blanks: its API reads one of them. */
  readonly names: string;
  /** Every request of the API has one of these members. Without them, every request of the route is one of the API. */
  readonly of?: readonly string[];
}

export interface RouteClass {
  readonly requestType: RequestType;
  readonly estimate: EstimateRule;
  /** Only these limits lower the estimate (docs/rules/token-estimates.md#client-limits). */
  readonly limits: readonly OwnLimit[];
  readonly billedBy: BilledBy;
  /** The route takes multipart/form-data. */
  readonly form: boolean;
  /** On streams the gateway requests the usage event on the client's behalf (docs/rules/streams.md#usage-event). */
  readonly usageOption: boolean;
}

/** The paths that require a registered model; each answers POST. */
export const MODEL_ROUTES = [
  "/v1/chat/completions",
  "/v1/completions",
  "/v1/responses",
  "/v1/messages",
  "/v1/embeddings",
  "/v1/audio/transcriptions",
  "/v1/audio/translations",
  "/v1/audio/speech",
  "/v1/images/generations",
  "/v1/images/edits",
  "/v1/images/variations",
] as const;

const OTHER: RouteClass = {
  requestType: "other",
  estimate: "any",
  limits: [],
  billedBy: "tokens",
  form: false,
  usageOption: false,
};

const MAX_TOKENS: OwnLimit = { names: "max_tokens" };
/** Several servers have this path. Of SGLang; of TGI; of vLLM and LMDeploy. */
const GENERATE_LIMITS: readonly OwnLimit[] = [
  { names: "sampling_params.max_new_tokens", of: ["text", "input_ids", "input_embeds"] },
  { names: "parameters.max_new_tokens", of: ["inputs"] },
  { names: "max_tokens", of: ["prompt", "input_ids"] },
];

/** A route that reads texts and creates none. */
const READING: RouteClass = { ...OTHER, estimate: "texts", billedBy: "input-tokens" };

/**
 * The class of a path, by its last segments. An upstream decodes letters and may ignore a slash at the end; this function
 * does too.
 */
export function routeClassOf(rawPath: string): RouteClass {
  return CLASSES.get(rawPath) ?? classOf(rawPath);
}

function classOf(rawPath: string): RouteClass {
  // from its first slash on, each run of slashes is read once
  const path = decoded(rawPath).replace(/(?<!\/)\/+$/, "");
  if (path.startsWith("/v1/models/")) return OTHER;
  if (path.startsWith("/mcp/")) return { ...OTHER, requestType: "mcp" };
  const [parent, last] = ["", ...path.split("/")].slice(-2);
  switch (last) {
    case "completions":
      return parent === "chat"
        ? {
            ...OTHER,
            requestType: "chat",
            estimate: "messages",
            limits: [{ names: "max_completion_tokens max_tokens" }],
            usageOption: true,
          }
        : { ...OTHER, requestType: "completion", estimate: "prompt", limits: [MAX_TOKENS], usageOption: true };
    case "responses":
      return { ...OTHER, requestType: "responses", estimate: "responses", limits: [{ names: "max_output_tokens" }] };
    case "messages":
      return { ...OTHER, requestType: "messages", limits: [MAX_TOKENS] };
    case "embeddings":
      return { ...OTHER, requestType: "embedding", estimate: "input", billedBy: "input-tokens" };
    case "rerank":
      return { ...READING, requestType: "rerank" };
    case "realtime":
      return { ...OTHER, requestType: "realtime", estimate: "nothing", billedBy: "nothing" };
    case "moderations":
      return { ...READING, requestType: "moderation" };
    case "score":
    case "classify":
    case "pooling":
      return READING;
    case "count_tokens":
    case "input_tokens":
    case "tokenize":
    case "detokenize":
    case "apply-template":
      return { ...OTHER, estimate: "nothing", billedBy: "nothing" };
    case "completion":
    case "infill":
      return { ...OTHER, limits: [{ names: "n_predict" }] };
    case "generate":
      // below other segments it is another server's, such as Ollama's
      return /^(?:v\d)?$/.test(parent ?? "") ? { ...OTHER, limits: GENERATE_LIMITS } : OTHER;
    default:
  }
  if (parent === "audio") return audioClass(last ?? "");
  if (parent !== "images") return OTHER;
  const form = last === "edits" || last === "variations";
  return { ...OTHER, requestType: "image", estimate: "nothing", billedBy: "images", form };
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function audioClass(last: string): RouteClass {
  if (last === "speech") return { ...OTHER, requestType: "audio", estimate: "speech", billedBy: "characters" };
  if (last !== "transcriptions" && last !== "translations") return { ...OTHER, requestType: "audio" };
  return { ...OTHER, requestType: "audio", estimate: "nothing", billedBy: "seconds", form: true };
}

/** The classes of the documented paths, which nearly every request has. */
const CLASSES: ReadonlyMap<string, RouteClass> = new Map(MODEL_ROUTES.map((path) => [path, classOf(path)]));
