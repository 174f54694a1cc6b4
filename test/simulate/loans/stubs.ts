/**
 * What an isolate of the simulation of loans holds of its Cell: stubs whose calls travel by the wire, and which the runtime
 * disposes when their holder's context ends. A session may be cut while both sides live.
 */
import type { Admitted, Ask, CellApi, PermitHandle } from "../../../edge/domain/ask.ts";
import type { Debtor, LendingApi, LoanSession } from "../../../edge/domain/loan/messages.ts";
import { LOAN_MARGIN_MS, LOAN_MS } from "../../../edge/domain/loan/messages.ts";
import type { Seat } from "../../../edge/objects/seat.ts";
import type { CellLife } from "./cell.ts";
import { type Context, here, type Timeline } from "./timeline.ts";
import type { Run, Truth } from "./truth.ts";
import { Link, type Wire } from "./wire.ts";

/** A session as the simulation sees it. */
export interface Session {
  readonly life: CellLife;
  /** Requests that took a slot of it and of which the Cell has not been told. */
  readonly untold: Map<string, Run>;
  heardMs: number;
  open: boolean;
  cut(): void;
}

export interface StubParts {
  readonly time: Timeline;
  readonly wire: Wire;
  readonly truth: Truth;
  readonly life: () => CellLife;
  /** The session has had its first answer. */
  readonly serves: (session: Session) => void;
}

/** The Cell as code of an isolate calls it. Only what admission needs of it. */
export function cellStub(parts: StubParts): CellApi & LendingApi {
  const { wire, life } = parts;
  const stub = {
    admit: async (ask: Ask): Promise<Admitted<PermitHandle>> => {
      const [from, to] = [here(), life()];
      const undone = (admitted: Admitted<Seat>) => {
        if (admitted.verdict !== "stale") wire.tell(to.context, () => to.abandon(admitted.permit));
      };
      // What the wire may do to a place in the queue is no matter of loans.
      const admitted = await wire.call(from, to.context, () => to.admit(ask), { undone, sure: true });
      if (admitted.verdict === "stale") return admitted;
      return { ...admitted, permit: permitStub(parts, from, to, admitted.permit) };
    },
    adopt: async (ask: Ask) => {
      const [from, to] = [here(), life()];
      const undone = (seat: Seat) => wire.tell(to.context, () => to.abandon(seat));
      return {
        permit: permitStub(parts, from, to, await wire.call(from, to.context, () => to.adopt(ask), { undone })),
      };
    },
    settleOrphan: async (row: Parameters<CellApi["settleOrphan"]>[0]) => {
      const to = life();
      await wire.call(here(), to.context, async () => await to.settleOrphan(row));
    },
    borrow: async (debtor: Debtor) => {
      const [from, to] = [here(), life()];
      return { session: await sessionStub(parts, from, to, debtor) };
    },
  };
  return stub as unknown as CellApi & LendingApi;
}

function permitStub({ wire }: StubParts, from: Context, to: CellLife, seat: Seat): PermitHandle {
  const link = new Link();
  let disposed = false;
  const call = async <T>(work: () => Promise<T> | T): Promise<T> => await wire.call(from, to.context, work, { link });
  const dispose = () => {
    forget();
    if (disposed) return;
    disposed = true;
    wire.tell(to.context, () => to.abandon(seat), link);
  };
  const forget = from.onDeath(dispose);
  return {
    decision: async () =>
      await wire.call(from, to.context, async () => await to.desk.decision(seat), { link, sure: true }),
    inUse: async () => await call(() => to.desk.inUse(seat)),
    lost: async () => await call(async () => await new Promise<never>(() => {})),
    settle: async (settlement) => await call(async () => await to.desk.settle(seat, settlement)),
    [Symbol.dispose]: dispose,
  };
}

async function sessionStub(parts: StubParts, from: Context, to: CellLife, debtor: Debtor): Promise<LoanSession> {
  const { wire, truth, time } = parts;
  const link = new Link();
  const back = new Link();
  let cut = false;
  const recall: Debtor["recall"] = async (items) =>
    await wire.call(to.context, from, async () => await debtor.recall(items), { link: back, tells: true });
  const held = await wire.call(from, to.context, () => to.borrow({ recall }), { undone: (lost) => to.lost(lost) });
  const dispose = () => {
    forget();
    cut = true;
    wire.tell(to.context, () => to.lost(held), link);
  };
  const forget = from.onDeath(dispose);
  const session: Session = { life: to, untold: new Map(), heardMs: time.nowMs, open: true, cut: dispose };
  const heard = () => {
    const atMs = time.nowMs;
    session.heardMs = atMs;
    // Just before the Cell takes back what is free: who took a slot without a word of it is not counted from then on.
    time.later(LOAN_MS + LOAN_MARGIN_MS - 0.01, () => {
      if (session.heardMs !== atMs || !session.open) return;
      for (const run of session.untold.values())
        if (run.untold && truth.running.has(run.id)) truth.uncount(run, "nothing was heard of its session");
    });
  };
  const isTold = (requestId: string) => {
    const run = session.untold.get(requestId);
    if (run !== undefined) run.untold = false;
    session.untold.delete(requestId);
  };
  const call = async <T>(work: () => Promise<T> | T): Promise<T> => {
    if (cut) throw new Error("the session is cut");
    return await wire.call(from, to.context, work, { link, tells: true });
  };
  return {
    tell: async (told) => {
      const renewal = await call(() => {
        heard();
        for (const { requestId } of [...told.taken, ...told.ended]) isTold(requestId);
        return to.tell(held, told);
      });
      parts.serves(session);
      return renewal;
    },
    close: async (told) =>
      await call(async () => {
        session.open = false;
        for (const { requestId } of [...told.taken, ...told.ended]) isTold(requestId);
        await to.close(held, told);
      }),
    [Symbol.dispose]: dispose,
  };
}
