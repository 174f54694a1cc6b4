/** What lines of batches cost (docs/rules/batches.md#lines). */
import type { ModelRecord } from "../../../shared/records.ts";
import type { Call } from "../call/context.ts";
import type { Resolved } from "../call/known.ts";

/** The request, with the prices of its model as the call pays them. */
export function atPricesOf<K extends Resolved>({ line }: Call, request: K): K {
  if (line === undefined) return request;
  const { prices, batch_price_factor: factor } = request.model;
  const reduced = Object.entries(prices).map(([name, price]) => [name, price === null ? null : price * factor] as const);
  return { ...request, model: { ...request.model, prices: Object.fromEntries(reduced) as ModelRecord["prices"] } };
}
