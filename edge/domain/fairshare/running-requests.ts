/**
 * The requests that hold a slot, and what each was charged for it. Counts them for tenants, groups and models, with the
 * tokens that are shown; orders nothing and decides nothing.
 */
import { type Bottleneck, type Charge, type Running, type Waiter, weightOf } from "./state.ts";

export class RunningRequests {
  readonly #running = new Map<string, Running>();

  get size(): number {
    return this.#running.size;
  }

  has(requestId: string): boolean {
    return this.#running.has(requestId);
  }

  get(requestId: string): Running | undefined {
    return this.#running.get(requestId);
  }

  /** Gives a request a slot and returns its charge. */
  put(
    waiter: Waiter,
    charged: { readonly at: number; readonly bottleneck: Bottleneck; readonly everywhere: boolean },
  ): Charge {
    const { tenant, model, arrival } = waiter;
    const { group } = tenant;
    const tokens = arrival.costTokens;
    const admissionWeight = model.admissionWeight;
    const { at, bottleneck, everywhere } = charged;
    // Field by field: V8 keeps an object that is made by a spread and further fields in a slow form.
    const charge = {
      tokens,
      weight: weightOf(tenant, model),
      groupWeight: group.weight,
      at,
      bottleneck,
      everywhere,
    };
    const running = { waiter, group, charge, admissionWeight };
    this.#running.set(arrival.requestId, running);
    this.#count(running, 1, tokens);
    return charge;
  }

  /** Takes the slot of one back that used `actualTokens`. */
  remove(running: Running, actualTokens: number): void {
    this.#running.delete(running.waiter.arrival.requestId);
    this.#count(running, -1, actualTokens - running.charge.tokens);
  }

  #count({ waiter: { tenant, model }, group, admissionWeight }: Running, change: 1 | -1, tokens: number): void {
    tenant.inFlight += change;
    group.inFlight += change;
    model.inFlight += change;
    tenant.runningWeights += change * admissionWeight;
    tenant.servedTokens += tokens;
    group.servedTokens += tokens;
  }
}
