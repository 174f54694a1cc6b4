/**
 * A session of exchanges as a capability over RPC: when its holder's context ends, the runtime disposes it. Calls here are
 * one step deep; every decision is the controller's.
 */
import { RpcTarget } from "cloudflare:workers";
import type { ExchangeAnswer, ExchangeMessage, ExchangeSession } from "../../domain/admission/exchange-messages.ts";

/** What a session asks of its Cell. `Session` is the controller's own record, which a capability only hands back. */
interface SessionController<Session> {
  exchange(session: Session, message: ExchangeMessage): ExchangeAnswer;
  news(session: Session): Promise<ExchangeAnswer>;
  /** Ends it, whether its holder said so or is gone; a second call is a no-op. */
  end(session: Session): void;
}

export class SessionTarget<Session> extends RpcTarget implements ExchangeSession {
  readonly #controller: SessionController<Session>;
  readonly #session: Session;

  constructor(controller: SessionController<Session>, session: Session) {
    super();
    this.#controller = controller;
    this.#session = session;
  }

  async exchange(message: ExchangeMessage): Promise<ExchangeAnswer> {
    return this.#controller.exchange(this.#session, message);
  }

  async news(): Promise<ExchangeAnswer> {
    return await this.#controller.news(this.#session);
  }

  async close(): Promise<void> {
    this.#controller.end(this.#session);
  }

  [Symbol.dispose](): void {
    this.#controller.end(this.#session);
  }
}
