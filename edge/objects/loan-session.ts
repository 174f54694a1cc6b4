/**
 * A session of loans as a capability over RPC: when its holder's context ends, the runtime disposes it. Calls here are one
 * step deep; every decision is the desk's.
 */
import { RpcTarget } from "cloudflare:workers";
import type { LoanSession, Renewal, Told } from "../domain/loan/messages.ts";

/** What a session asks of its Cell. `Session` is the desk's own record; nobody else looks inside. */
export interface SessionDesk<Session> {
  tell(session: Session, told: Told): Renewal;
  close(session: Session, told: Told): Promise<void>;
  /** The holder is gone. A no-op for a session that was closed. */
  lost(session: Session): void;
}

export class SessionTarget<Session> extends RpcTarget implements LoanSession {
  readonly #desk: SessionDesk<Session>;
  readonly #session: Session;

  constructor(desk: SessionDesk<Session>, session: Session) {
    super();
    this.#desk = desk;
    this.#session = session;
  }

  async tell(told: Told): Promise<Renewal> {
    return this.#desk.tell(this.#session, told);
  }

  async close(told: Told): Promise<void> {
    await this.#desk.close(this.#session, told);
  }

  [Symbol.dispose](): void {
    this.#desk.lost(this.#session);
  }
}
