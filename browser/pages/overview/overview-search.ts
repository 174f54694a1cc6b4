/** Search parameters of the page `overview`. */
import { searchParams } from "../../data/search-params.ts";

export const overviewSearch = searchParams({});
