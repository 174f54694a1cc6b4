/**
 * The Durable Objects by name, each in its location (docs/rules/configuration.md#cells): a Cell and its Ledgers at the
 * cell's location hint, or bound to its jurisdiction; the budget objects of tenants, which all cells share, in the
 * jurisdiction of the first cell, because the same name in another jurisdiction is another object. A hint counts only
 * when an object is first made. On a machine with several processes one of them has the objects, and the others call it
 * (docs/rules/local-stack.md#several-processes).
 */
import type { CellConfig } from "../../../shared/env/cells.ts";
import type { Bindings, ObjectKind, RemoteObjects } from "../../bindings.ts";
import type { ExchangeApi } from "../../domain/admission/exchange-messages.ts";
import type { CellApi } from "../../domain/admission/rpc.ts";
import type { TenantBudgetApi } from "../../domain/budget/messages/rpc.ts";
import type { LedgerApi } from "../../domain/ledger/rpc.ts";

type ObjectBindings = Pick<Bindings, "CELL" | "LEDGER" | "TENANT_BUDGET" | "OBJECTS">;

export class ObjectStubs {
  readonly #bindings: ObjectBindings;
  readonly #cells: readonly CellConfig[];

  constructor(bindings: ObjectBindings, cells: readonly CellConfig[]) {
    this.#bindings = bindings;
    this.#cells = cells;
  }

  /** A fresh stub of a Cell. */
  cell(name: string): CellApi & ExchangeApi {
    return this.stub("cell", name) as CellApi & ExchangeApi;
  }

  /** A fresh stub of a Ledger, by its name `<cell>:<shard>`. */
  ledger(name: string): LedgerApi {
    return this.stub("ledger", name) as LedgerApi;
  }

  /** A fresh stub of a tenant's budget object. */
  budget(tenantId: string): TenantBudgetApi {
    return this.stub("budget", tenantId) as TenantBudgetApi;
  }

  /** A fresh stub of an object of any kind. */
  stub(kind: ObjectKind, name: string): unknown {
    const { CELL, LEDGER, TENANT_BUDGET, OBJECTS } = this.#bindings;
    if (OBJECTS !== undefined) return remoteStub(OBJECTS, kind, name);
    switch (kind) {
      case "cell":
        return this.#at(CELL, name, name);
      case "ledger":
        return this.#at(LEDGER, name, name.slice(0, name.lastIndexOf(":")));
      case "budget":
        return within(TENANT_BUDGET, this.#cells[0]).getByName(name);
    }
  }

  #at(namespace: DurableObjectNamespace, name: string, cell: string): DurableObjectStub {
    const plan = this.#cells.find((known) => known.cell === cell);
    const options = plan?.hint === undefined ? {} : { locationHint: plan.hint };
    return within(namespace, plan).getByName(name, options);
  }
}

/** Every method but `then`: a stub is not a promise. */
function remoteStub(objects: RemoteObjects, kind: ObjectKind, name: string): object {
  const get = (_: object, method: string | symbol) =>
    typeof method === "string" && method !== "then"
      ? async (...args: readonly unknown[]) => await objects.call(kind, name, method, args)
      : undefined;
  return new Proxy({}, { get });
}

function within(namespace: DurableObjectNamespace, plan: CellConfig | undefined): DurableObjectNamespace {
  return plan?.jurisdiction === undefined ? namespace : namespace.jurisdiction(plan.jurisdiction);
}
