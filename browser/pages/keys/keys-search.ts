/** Search parameters of the page `keys`. */
import { choiceParam, LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";

export const keysSearch = searchParams({
  ...LIST_PARAMS,
  /** Of what was changed. */
  changes_columns: LIST_PARAMS.columns,
  q: textParam(200),
  disabled: choiceParam(["true", "false"]),
  tenant_id: textParam(40),
  /** The key that is open beside the list. */
  key_id: textParam(40),
});
