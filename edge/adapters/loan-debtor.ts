/**
 * What a Cell calls to have its loans back: a capability that lives as long as the context of the request that made it.
 */
import { RpcTarget } from "cloudflare:workers";
import type { Debtor, Recall } from "../domain/loan/messages.ts";

export class LoanDebtor extends RpcTarget implements Debtor {
  readonly #recall: Debtor["recall"];

  constructor(recall: Debtor["recall"]) {
    super();
    this.#recall = recall;
  }

  async recall(recall: Recall): Promise<void> {
    await this.#recall(recall);
  }
}
