/**
 * What a path is (decisions §17.4, §18, §23.3): the class that its usage row carries, the rule that estimates it, what it is
 * billed by, and whether its body is a form. The class follows from the end of the path, whoever serves it; only the
 * documented paths insist on a model.
 */
import type { RequestType } from "../../../shared/usage-row.ts";

/** Which part of a body is estimated. */
export type EstimateRule = "messages" | "prompt" | "input" | "responses" | "speech" | "nothing" | "any";

/** What a route is billed by; see shared/cost.ts. */
export type BilledBy = "tokens" | "input-tokens" | "images" | "characters" | "nothing";

export interface RouteClass {
  readonly requestType: RequestType;
  readonly estimate: EstimateRule;
  readonly billedBy: BilledBy;
  /** The route takes multipart/form-data. */
  readonly form: boolean;
  /** On streams the usage event is asked for on the client's behalf (decisions §22.5). */
  readonly usageOption: boolean;
}

/** The paths that insist on a registered model; each answers POST. */
export const MODEL_ROUTES = [
  "/v1/chat/completions",
  "/v1/completions",
  "/v1/responses",
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
  billedBy: "tokens",
  form: false,
  usageOption: false,
};

/** The class of a path, by its last segments. An upstream decodes letters and may overlook a slash at the end; so does this. */
export function routeClassOf(rawPath: string): RouteClass {
  return CLASSES.get(rawPath) ?? classOf(rawPath);
}

function classOf(rawPath: string): RouteClass {
  const path = decoded(rawPath).replace(/\/+$/, "");
  if (path.startsWith("/v1/models/") || path.startsWith("/mcp/")) return OTHER;
  const [parent, last] = ["", ...path.split("/")].slice(-2);
  switch (last) {
    case "completions":
      return parent === "chat"
        ? { ...OTHER, requestType: "chat", estimate: "messages", usageOption: true }
        : { ...OTHER, requestType: "completion", estimate: "prompt", usageOption: true };
    case "responses":
      return { ...OTHER, requestType: "responses", estimate: "responses" };
    case "embeddings":
      return { ...OTHER, requestType: "embedding", estimate: "input", billedBy: "input-tokens" };
    case "rerank":
      return { ...OTHER, requestType: "rerank" };
    case "moderations":
      return { ...OTHER, requestType: "moderation" };
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
  return { ...OTHER, requestType: "audio", estimate: "nothing", billedBy: "nothing", form: true };
}

/** Those of the documented paths, which nearly every request has. */
const CLASSES: ReadonlyMap<string, RouteClass> = new Map(MODEL_ROUTES.map((path) => [path, classOf(path)]));
