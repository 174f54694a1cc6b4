/**
 * What an isolate of the simulation of exchanges holds of its Cell: stubs whose calls travel over the wire, and which the
 * runtime disposes when the context that holds them ends. A session may be cut while isolate and Cell both live.
 */

import type { ExchangeApi, ExchangeMessage, SessionOpening } from "../../../edge/domain/admission/exchange-messages.ts";
import type { CellApi } from "../../../edge/domain/admission/rpc.ts";
import type { MemberSession as Held } from "../../../edge/objects/cell/members.ts";
import type { CellLife } from "./cell.ts";
import { type Context, here } from "./timeline.ts";
import { Link, type Wire } from "./wire.ts";

/** A session, from the side of the simulation. */
export interface Session {
  open: boolean;
  cut(): void;
}

export interface StubParts {
  readonly wire: Wire;
  readonly life: () => CellLife;
  /** Called when the session has had its first answer. */
  readonly serves: (session: Session) => void;
}

/** The Cell as code of an isolate calls it, with only the methods that admission needs. */
export function cellStub(parts: StubParts): CellApi & ExchangeApi {
  const { wire, life } = parts;
  const stub = {
    settleOrphan: async (row: Parameters<CellApi["settleOrphan"]>[0]) => {
      let to = life();
      const arrives = (): Context => {
        to = life();
        return to.context;
      };
      await wire.call(await caller(), arrives, async () => await to.settleOrphan(row));
    },
    openSession: async (member: SessionOpening, message: ExchangeMessage) =>
      await sessionStub(parts, await caller(), member, message),
  };
  return stub as unknown as CellApi & ExchangeApi;
}

async function sessionStub(
  parts: StubParts,
  from: Context,
  member: SessionOpening,
  message: ExchangeMessage,
): ReturnType<ExchangeApi["openSession"]> {
  const { wire, life } = parts;
  const link = new Link();
  let to = life();
  const arrives = (): Context => {
    to = life();
    return to.context;
  };
  let cut = false;
  const undone = ({ session }: { readonly session: Held }) => wire.notify(to.context, () => to.end(session));
  const opened = await wire.call(from, arrives, () => to.openSession(member, message), { undone });
  const dispose = () => {
    forget();
    session.open = false;
    cut = true;
    wire.notify(to.context, () => to.end(opened.session), link);
  };
  const forget = from.onDeath(dispose);
  const session: Session = { open: true, cut: dispose };
  const call = async <T>(work: () => Promise<T> | T, sure = false): Promise<T> => {
    if (cut) throw new Error("the session is cut");
    return await wire.call(from, to.context, work, { link, sessionCall: true, sure });
  };
  parts.serves(session);
  return {
    answer: opened.answer,
    session: {
      exchange: async (given) => await call(() => to.exchange(opened.session, given)),
      news: async () => await call(async () => await to.news(opened.session), true),
      close: async () => await call(() => to.end(opened.session)),
      [Symbol.dispose]: dispose,
    },
  };
}

/** The context that calls; code of a dead context does not continue. */
async function caller(): Promise<Context> {
  const context = here();
  if (!context.alive) await new Promise<never>(() => {});
  return context;
}
