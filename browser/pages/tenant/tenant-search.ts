/** Search parameters of the page of one tenant. */
import { choiceParam, LIST_PARAMS, listParams, searchParams, textParam } from "../../data/search-params.ts";

/** The parts of the page, in their order. */
export const TENANT_TABS = ["overview", "access", "budget", "policies", "keys", "usage", "history", "edit"] as const;

export const tenantSearch = searchParams({
  ...listParams("keys_"),
  /** Of the usage, by model and by key. */
  ...listParams("by_model_"),
  ...listParams("by_key_"),
  /** Of what was changed. */
  changes_columns: LIST_PARAMS.columns,
  tab: choiceParam(TENANT_TABS),
  /** Of the list of keys. */
  q: textParam(200),
  disabled: choiceParam(["true", "false"]),
  key_id: textParam(40),
  /** Of the usage: `7d`, `30d`, `month`, or days. */
  period: textParam(30),
});
