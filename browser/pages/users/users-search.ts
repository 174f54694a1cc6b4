/** Search parameters of the page `users`. */
import { choiceParam, LIST_PARAMS, listParams, searchParams, textParam } from "../../data/search-params.ts";

export const USER_TABS = ["people", "invitations", "groups"] as const;

export const usersSearch = searchParams({
  tab: choiceParam(USER_TABS),
  ...LIST_PARAMS,
  ...listParams("invitations_"),
  ...listParams("groups_"),
  ...listParams("sessions_"),
  /** Of what was changed. */
  changes_columns: LIST_PARAMS.columns,
  q: textParam(200),
  status: choiceParam(["pending", "active", "disabled"]),
  /** The user who is open beside the list. */
  user_id: textParam(40),
});
