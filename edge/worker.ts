/**
 * The Worker: the data plane's fetch handler and its Durable Object classes.
 */
import { serve } from "./app.ts";

export { Cell } from "./objects/cell.ts";
export { Ledger } from "./objects/ledger.ts";
export { TenantBudget } from "./objects/tenant-budget.ts";

export default { fetch: serve };
