/**
 * A session of exchanges as an RPC capability: when its holder's context ends, the runtime disposes it. The methods
 * here only forward; the controller makes every decision.
 */
import { RpcTarget } from "cloudflare:workers";
import type { ExchangeAnswer, ExchangeMessage, ExchangeSession } from "../../domain/admission/exchange-messages.ts";

/** What a session calls at its Cell. `Session` is the controller's own record; the capability returns it unchanged. */
interface SessionController<Session> {
  exchange(session: Session, message: ExchangeMessage): ExchangeAnswer;
  news(session: Session): Promise<ExchangeAnswer>;
  /** Ends the session, whether its holder closed it or is gone; a second call does nothing. */
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
