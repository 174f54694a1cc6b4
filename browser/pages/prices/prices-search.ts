/** Search parameters of the price list. */
import { LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";

export const pricesSearch = searchParams({ ...LIST_PARAMS, q: textParam(200) });
