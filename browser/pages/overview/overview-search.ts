/** Search parameters of the page `overview`. */
import { choiceParam, flagParam, LIST_PARAMS, searchParams } from "../../data/search-params.ts";

export const overviewSearch = searchParams({
  /** Of the cells. */
  ...LIST_PARAMS,
  /** Whose clock days follow; absent: the browser's. */
  zone: choiceParam(["browser", "utc"]),
  /** The whole list of what needs attention is shown. */
  all: flagParam,
});
