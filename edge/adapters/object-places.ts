/**
 * The Durable Objects by name, each where it belongs (design §4, decisions §41): a Cell and its Ledgers at the cell's
 * location hint, or bound to its jurisdiction; the budget objects of tenants, which all cells share, in the jurisdiction of
 * the first cell, for an object of another jurisdiction is another object. A hint counts when an object is first made.
 */
import type { CellPlan } from "../../shared/cells.ts";
import type { CellApi, LedgerApi } from "../domain/ask.ts";
import type { TenantBudgetApi } from "../domain/budget/api.ts";
import type { ExchangeApi } from "../domain/exchange/messages.ts";
import type { Bindings } from "../env.ts";

export class ObjectPlaces {
  readonly #bindings: Pick<Bindings, "CELL" | "LEDGER" | "TENANT_BUDGET">;
  readonly #cells: readonly CellPlan[];

  constructor(bindings: Pick<Bindings, "CELL" | "LEDGER" | "TENANT_BUDGET">, cells: readonly CellPlan[]) {
    this.#bindings = bindings;
    this.#cells = cells;
  }

  /** A fresh stub of a Cell. */
  cell(name: string): CellApi & ExchangeApi {
    return this.#at(this.#bindings.CELL, name, name) as unknown as CellApi & ExchangeApi;
  }

  /** A fresh stub of a Ledger, by its name `<cell>:<shard>`. */
  ledger(name: string): LedgerApi {
    return this.#at(this.#bindings.LEDGER, name, name.slice(0, name.lastIndexOf(":"))) as unknown as LedgerApi;
  }

  /** A fresh stub of a tenant's budget object. */
  budget(tenantId: string): TenantBudgetApi {
    const namespace = within(this.#bindings.TENANT_BUDGET, this.#cells[0]);
    return namespace.getByName(tenantId) as unknown as TenantBudgetApi;
  }

  #at(namespace: DurableObjectNamespace, name: string, cell: string): DurableObjectStub {
    const plan = this.#cells.find((known) => known.cell === cell);
    const options = plan?.hint === undefined ? {} : { locationHint: plan.hint };
    return within(namespace, plan).getByName(name, options);
  }
}

function within(namespace: DurableObjectNamespace, plan: CellPlan | undefined): DurableObjectNamespace {
  return plan?.jurisdiction === undefined ? namespace : namespace.jurisdiction(plan.jurisdiction);
}
