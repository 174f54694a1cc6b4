/**
 * A session as an RPC capability: when its holder's context ends, the runtime disposes it. The methods here only forward; Members
 * makes every decision.
 */
import { RpcTarget } from "cloudflare:workers";
import type { ExchangeAnswer, ExchangeMessage, ExchangeSession } from "../../domain/admission/exchange-messages.ts";
import type { MemberSession, Members } from "./members.ts";

export class SessionTarget extends RpcTarget implements ExchangeSession {
  readonly #members: Members;
  readonly #session: MemberSession;

  constructor(members: Members, session: MemberSession) {
    super();
    this.#members = members;
    this.#session = session;
  }

  async exchange(message: ExchangeMessage): Promise<ExchangeAnswer> {
    return this.#members.exchange(this.#session, message);
  }

  async news(): Promise<ExchangeAnswer> {
    return await this.#members.news(this.#session);
  }

  async close(): Promise<void> {
    this.#members.end(this.#session);
  }

  [Symbol.dispose](): void {
    this.#members.end(this.#session);
  }
}
