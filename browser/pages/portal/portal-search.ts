/** Search parameters of the portal's pages. */
import { choiceParam, LIST_PARAMS, listParams, searchParams, textParam } from "../../data/search-params.ts";

const NAME_MAX = 300;

/** Of the guide, in their order. */
export const EXAMPLES = ["curl", "python", "typescript", "langchainPython", "langchain", "aiSdk", "anthropic"] as const;

export const portalLimitsSearch = searchParams(LIST_PARAMS);

export const portalModelsSearch = searchParams({ ...LIST_PARAMS, q: textParam(200) });

export const portalUsageSearch = searchParams({
  ...listParams("by_model_"),
  ...listParams("by_key_"),
  period: textParam(30),
});

export const guideSearch = searchParams({
  model: textParam(NAME_MAX),
  key_id: textParam(40),
  code: choiceParam(EXAMPLES),
});
