/**
 * The word that a row is durable, over RPC: asked for behind the answer that the row is of, in the session of the call that
 * handed the row in.
 */
import { RpcTarget } from "cloudflare:workers";
import type { ReceiptHandle } from "../../domain/admission/rpc.ts";

export class Receipt extends RpcTarget implements ReceiptHandle {
  readonly #durable: Promise<void>;

  constructor(durable: Promise<void>) {
    super();
    this.#durable = durable;
    // Nobody may ask.
    durable.catch(() => undefined);
  }

  async durable(): Promise<void> {
    await this.#durable;
  }

  [Symbol.dispose](): void {
    // The row has been taken, whoever waits for it.
  }
}
