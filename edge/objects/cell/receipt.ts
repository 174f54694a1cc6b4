/**
 * The confirmation that a row is durable, as an RPC capability: used after the row's request was answered, in the
 * session of the call that handed the row in.
 */
import { RpcTarget } from "cloudflare:workers";
import type { ReceiptHandle } from "../../domain/admission/rpc.ts";

export class Receipt extends RpcTarget implements ReceiptHandle {
  readonly #durable: Promise<void>;

  constructor(durable: Promise<void>) {
    super();
    this.#durable = durable;
    // The caller may never wait for it.
    durable.catch(() => undefined);
  }

  async durable(): Promise<void> {
    await this.#durable;
  }

  [Symbol.dispose](): void {
    // Nothing to release: the row has been taken, whether the caller waits for it or not.
  }
}
