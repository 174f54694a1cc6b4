/** Search parameters of the portal's pages. */
import { choiceParam, LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";
import { GUIDE_ROUTES } from "./guide-routes.ts";

const NAME_MAX = 300;

/** Of the guide, in their order. */
export const EXAMPLES = ["curl", "python", "typescript", "langchainPython", "langchain", "aiSdk", "anthropic"] as const;

export const portalLimitsSearch = searchParams(LIST_PARAMS);

export const portalModelsSearch = searchParams({ ...LIST_PARAMS, q: textParam(200), open: textParam(40) });

/** Of the page that costs and usage had before they were one. */
export const portalUsageSearch = searchParams({ period: textParam(30) });

export const guideSearch = searchParams({
  model: textParam(NAME_MAX),
  key_id: textParam(40),
  route: choiceParam(GUIDE_ROUTES),
  code: choiceParam(EXAMPLES),
});
