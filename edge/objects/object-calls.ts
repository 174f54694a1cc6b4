/**
 * The entrance to the Durable Objects of this process for the others of the machine (decisions §43.10): it passes calls on and
 * decides nothing. A capability in an answer is its caller's: when that process dies, the runtime disposes it here and, with
 * it, at the object.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { ObjectPlaces } from "../adapters/object-places.ts";
import { type Bindings, type ObjectKind, parseEnv, type RemoteObjects } from "../env.ts";

let places: ObjectPlaces | null = null;

export class ObjectCalls extends WorkerEntrypoint<Bindings> implements RemoteObjects {
  async call(kind: ObjectKind, name: string, method: string, args: readonly unknown[]): Promise<unknown> {
    places ??= new ObjectPlaces(this.env, parseEnv(this.env).cells);
    const stub = places.stub(kind, name) as Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;
    return await stub[method]?.(...args);
  }
}
