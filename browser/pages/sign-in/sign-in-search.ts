/** Search parameters of the sign-in page (docs/rules/console.md#providers). */
import { searchParams, textParam } from "../../data/search-params.ts";

export const signInSearch = searchParams({
  /** A path of the console to go to afterwards. */
  return_to: textParam(2000),
  /** Why signing in at a provider failed. */
  error: textParam(100),
});
