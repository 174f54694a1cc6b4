/** The values that the platform gives to the Worker and its objects. */

/** The owner of an object: a region, a shard of a cell (`<cell>:<shard>`), or a tenant. */
export type ObjectKind = "cell" | "ledger" | "budget";

/** The objects of another process. */
export interface RemoteObjects {
  /**
   * Calls a method of an object. Returns and throws what the method does; the caller disposes the capabilities in an
   * answer.
   */
  call(kind: ObjectKind, name: string, method: string, args: readonly unknown[]): Promise<unknown>;
}

/**
 * The values that the platform gives to the Worker and its objects: text variables and object namespaces. A process whose
 * objects are in another process (docs/rules/local-stack.md#several-processes) has no namespaces, only OBJECTS.
 */
export interface Bindings {
  readonly CELL: DurableObjectNamespace;
  readonly LEDGER: DurableObjectNamespace;
  readonly TENANT_BUDGET: DurableObjectNamespace;
  /** The process that has the objects, and answers the internal routes. */
  readonly OBJECTS?: Fetcher & RemoteObjects;
  /**
   * The network path to upstreams that an admin registered, when it differs from the Worker's own (one machine, private
   * networks blocked).
   */
  readonly UPSTREAMS?: Fetcher;
  /** The version of the Worker that runs, as the platform knows it; absent on one's own machines. */
  readonly VERSION?: { readonly id: string };
  readonly [variable: `GATEWAY_${string}` | `OTEL_${string}`]: string | undefined;
}
