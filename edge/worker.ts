/**
 * The Worker: the data plane's fetch handler, its Durable Object classes, and the entrance to them for other processes.
 */
import { serve } from "./app.ts";
import { ObjectCalls } from "./objects/object-calls.ts";

export { Cell } from "./objects/cell/cell.ts";
export { Ledger } from "./objects/ledger/ledger.ts";
export { TenantBudget } from "./objects/tenant-budget/tenant-budget.ts";

/** What Worker processes ask of the one that has the objects: calls of objects, and the internal routes. */
export class Objects extends ObjectCalls {
  override async fetch(request: Request): Promise<Response> {
    return await serve(request, this.env, this.ctx);
  }
}

export default { fetch: serve };
