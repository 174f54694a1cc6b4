/**
 * The Worker: the data plane's fetch handler, its Durable Object classes, and the entrance to them for the other processes of the
 * machine.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { ObjectStubs } from "./adapters/objects/object-stubs.ts";
import { serve } from "./app.ts";
import { type Bindings, type ObjectKind, parseEnv, type RemoteObjects } from "./env.ts";

export { Cell, Ledger, TenantBudget } from "./durable-objects.ts";

let stubs: ObjectStubs | null = null;

/**
 * What Worker processes ask of the one that has the objects (docs/rules/local-stack.md#several-processes): calls of
 * objects, which it passes on without a decision of its own, and the internal routes. A capability in an answer is its
 * caller's: when that process dies, the runtime disposes it here and, with it, at the object.
 */
export class Objects extends WorkerEntrypoint<Bindings> implements RemoteObjects {
  async call(kind: ObjectKind, name: string, method: string, args: readonly unknown[]): Promise<unknown> {
    stubs ??= new ObjectStubs(this.env, parseEnv(this.env).cells);
    const stub = stubs.stub(kind, name) as Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;
    return await stub[method]?.(...args);
  }

  override async fetch(request: Request): Promise<Response> {
    return await serve(request, this.env, this.ctx);
  }
}

export default { fetch: serve };
