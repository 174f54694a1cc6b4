/**
 * The entrance to the Durable Objects of this process for the others of the machine (decisions §43.10): it passes calls on and
 * decides nothing. A capability in an answer is its caller's: when that process dies, the runtime disposes it here and, with
 * it, at the object.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { ObjectStubs } from "../adapters/objects/object-stubs.ts";
import { type Bindings, type ObjectKind, parseEnv, type RemoteObjects } from "../env.ts";

let places: ObjectStubs | null = null;

export class ObjectCalls extends WorkerEntrypoint<Bindings> implements RemoteObjects {
  async call(kind: ObjectKind, name: string, method: string, args: readonly unknown[]): Promise<unknown> {
    places ??= new ObjectStubs(this.env, parseEnv(this.env).cells);
    const stub = places.stub(kind, name) as Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;
    return await stub[method]?.(...args);
  }
}
