/**
 * The Worker: the data plane's fetch handler, its Durable Object classes, and the entrance to them for the other processes of the
 * machine.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { ObjectStubs } from "./adapters/objects/object-stubs.ts";
import { serve } from "./app.ts";
import type { Bindings, ObjectKind, RemoteObjects } from "./bindings.ts";
import { parseEnv } from "./env.ts";

/** @exported The Workers runtime finds them by name. */
export { Cell, Ledger, TenantBudget } from "./durable-objects.ts";

let stubs: ObjectStubs | null = null;

/**
 * What other Worker processes call at the process that has the objects (docs/rules/local-stack.md#several-processes):
 * methods of objects, which it only forwards, and the internal routes. The caller holds the capabilities in an answer:
 * when the caller's process dies, the runtime disposes them here and thereby at the object.
 * @exported The service binding of the other processes names it (infra/local/workerd).
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

/** @exported The Workers runtime calls it. */
export default { fetch: serve };
