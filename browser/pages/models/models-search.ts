/** Search parameters of the pages `models` and of one model. */
import { choiceParam, LIST_PARAMS, listParams, searchParams, textParam } from "../../data/search-params.ts";

/** The kinds of models (docs/rules/models.md#fields), without the schemas that validate them. */
export const MODEL_KINDS = ["chat", "embedding", "audio_transcription", "audio_speech", "image"] as const;
/** docs/rules/health.md#states */
export const HEALTH_STATES = ["healthy", "degraded", "unhealthy", "unknown", "disabled", "maintenance"] as const;

export const modelsSearch = searchParams({
  ...LIST_PARAMS,
  q: textParam(200),
  type: choiceParam(MODEL_KINDS),
  health: choiceParam(HEALTH_STATES),
});

/** The parts of a model's page, in their order. */
export const MODEL_TABS = [
  "overview",
  "connection",
  "reliability",
  "capacity",
  "boons",
  "health",
  "usage",
  "history",
  "edit",
] as const;

export const modelSearch = searchParams({
  ...listParams("checks_"),
  ...listParams("by_key_"),
  ...listParams("endpoints_"),
  ...listParams("ladder_"),
  /** Of what was changed. */
  changes_columns: LIST_PARAMS.columns,
  replicas_columns: LIST_PARAMS.columns,
  tab: choiceParam(MODEL_TABS),
  /** Of the usage. */
  period: textParam(30),
  /** The endpoint that is open. */
  endpoint: textParam(40),
});
