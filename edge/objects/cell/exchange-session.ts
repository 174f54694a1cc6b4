/**
 * A session of exchanges as a capability over RPC: when its holder's context ends, the runtime disposes it. Calls here are
 * one step deep; every decision is the controller's.
 */
import { RpcTarget } from "cloudflare:workers";
import type { ExchangeAnswer, ExchangeMessage, ExchangeSession } from "../../domain/admission/exchange-messages.ts";

/** What a session asks of its Cell. `Session` is the controller's own record; nobody else looks inside. */
interface SessionController<Session> {
  exchange(session: Session, message: ExchangeMessage): ExchangeAnswer;
  news(session: Session): Promise<ExchangeAnswer>;
  /** Its end, said or not; a second one is a no-op. */
  end(session: Session): void;
}

export class SessionTarget<Session> extends RpcTarget implements ExchangeSession {
  readonly #desk: SessionController<Session>;
  readonly #session: Session;

  constructor(desk: SessionController<Session>, session: Session) {
    super();
    this.#desk = desk;
    this.#session = session;
  }

  async exchange(message: ExchangeMessage): Promise<ExchangeAnswer> {
    return this.#desk.exchange(this.#session, message);
  }

  async news(): Promise<ExchangeAnswer> {
    return await this.#desk.news(this.#session);
  }

  async close(): Promise<void> {
    this.#desk.end(this.#session);
  }

  [Symbol.dispose](): void {
    this.#desk.end(this.#session);
  }
}
