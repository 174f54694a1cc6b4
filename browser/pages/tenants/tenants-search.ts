/** Search parameters of the page `tenants`. */
import { searchParams } from "../../data/search-params.ts";

export const tenantsSearch = searchParams({});
