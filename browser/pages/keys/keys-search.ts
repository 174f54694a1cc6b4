/** Search parameters of the page `keys`. */
import { searchParams } from "../../data/search-params.ts";

export const keysSearch = searchParams({});
