/** Search parameters of the playground. What is said in it is in no address. */
import { searchParams, textParam } from "../../data/search-params.ts";

export const playgroundSearch = searchParams({
  model: textParam(300),
  /** A second model, which is asked the same. */
  beside: textParam(300),
  /** The tenant that an admin calls as. */
  tenant_id: textParam(40),
});
