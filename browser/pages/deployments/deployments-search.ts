/** Search parameters of the pages of managed models. */
import { choiceParam, LIST_PARAMS, listParams, searchParams, textParam } from "../../data/search-params.ts";
import { SPEC_STATES } from "./spec-state.ts";

/** The parts of the list's page, in their order. */
export const LIST_TABS = ["models", "recipes"] as const;
/** The parts of one managed model's page, in their order. */
export const DEPLOYMENT_TABS = ["replicas", "spec", "history"] as const;

export const deploymentsSearch = searchParams({
  ...LIST_PARAMS,
  ...listParams("recipes_"),
  tab: choiceParam(LIST_TABS),
  q: textParam(200),
  state: choiceParam(SPEC_STATES),
  /** The recipe that is open. */
  recipe: textParam(40),
});

export const newDeploymentSearch = searchParams({
  model_id: textParam(40),
  /** Id of the recipe that fills the form. */
  recipe: textParam(40),
});

export const deploymentSearch = searchParams({
  ...LIST_PARAMS,
  /** Of what was changed. */
  changes_columns: LIST_PARAMS.columns,
  replicas_columns: LIST_PARAMS.columns,
  tab: choiceParam(DEPLOYMENT_TABS),
  /** The replica that is open. */
  replica: textParam(40),
});
