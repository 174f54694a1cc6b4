/** Search parameters of the page `users`. */
import { choiceParam, LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";

export const usersSearch = searchParams({
  ...LIST_PARAMS,
  /** Of what was changed. */
  changes_columns: LIST_PARAMS.columns,
  q: textParam(200),
  status: choiceParam(["pending", "active", "disabled"]),
  /** The user who is open beside the list. */
  user_id: textParam(40),
});
