/** Search parameters of the portal's pages. */
import { choiceParam, searchParams, textParam } from "../../data/search-params.ts";

const NAME_MAX = 300;

/** Of the guide, in their order. */
export const EXAMPLES = ["curl", "python", "typescript", "langchainPython", "langchain", "aiSdk"] as const;

export const portalModelsSearch = searchParams({ q: textParam(200), sort: textParam(30) });

export const portalUsageSearch = searchParams({ period: textParam(30), sort: textParam(30) });

export const guideSearch = searchParams({
  model: textParam(NAME_MAX),
  key_id: textParam(40),
  code: choiceParam(EXAMPLES),
});
