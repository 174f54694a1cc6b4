/** Search parameters of the page `fairshare`. */
import { searchParams } from "../../data/search-params.ts";

export const fairshareSearch = searchParams({});
