/**
 * What an isolate of the simulation of exchanges holds of its Cell: stubs whose calls travel over the wire, and which the
 * runtime disposes when the context that holds them ends. A session may be cut while isolate and Cell both live.
 */

import type { ExchangeApi, ExchangeMessage } from "../../../edge/domain/admission/exchange-messages.ts";
import type { AdmissionRequest, Admitted, CellApi, PermitHandle } from "../../../edge/domain/admission/rpc.ts";
import type { AdmissionEntry } from "../../../edge/objects/cell/admission-entry.ts";
import type { ExchangeSessionState as Held } from "../../../edge/objects/cell/exchange-controller.ts";
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
    admit: async (request: AdmissionRequest): Promise<Admitted<PermitHandle>> => {
      const [from, to] = [await caller(), life()];
      const undone = (admitted: Admitted<AdmissionEntry>) => {
        if (admitted.verdict !== "stale") wire.notify(to.context, () => to.admission.disconnected(admitted.permit));
      };
      // Faults of the wire at this call are not a matter of exchanges.
      const admitted = await wire.call(from, to.context, () => to.admit(request), { undone, sure: true });
      if (admitted.verdict === "stale") return admitted;
      return { ...admitted, permit: permitStub(parts, from, to, admitted.permit) };
    },
    adopt: async (request: AdmissionRequest) => {
      const [from, to] = [await caller(), life()];
      const undone = (entry: AdmissionEntry) => wire.notify(to.context, () => to.admission.disconnected(entry));
      return {
        permit: permitStub(parts, from, to, await wire.call(from, to.context, () => to.adopt(request), { undone })),
      };
    },
    settleOrphan: async (row: Parameters<CellApi["settleOrphan"]>[0]) => {
      const [from, to] = [await caller(), life()];
      await wire.call(from, to.context, async () => await to.settleOrphan(row));
    },
    hold: async (requestId: string) => {
      const [from, to] = [await caller(), life()];
      const undone = (entry: AdmissionEntry | null) => {
        if (entry !== null) wire.notify(to.context, () => to.admission.disconnected(entry));
      };
      const entry = await wire.call(from, to.context, () => to.hold(requestId), { undone, sure: true });
      return entry === null ? null : { permit: permitStub(parts, from, to, entry) };
    },
    openSession: async (message: ExchangeMessage) => await sessionStub(parts, await caller(), life(), message),
  };
  return stub as unknown as CellApi & ExchangeApi;
}

function permitStub({ wire }: StubParts, from: Context, to: CellLife, entry: AdmissionEntry): PermitHandle {
  const link = new Link();
  let disposed = false;
  const call = async <T>(work: () => Promise<T> | T): Promise<T> => await wire.call(from, to.context, work, { link });
  const dispose = () => {
    forget();
    if (disposed) return;
    disposed = true;
    wire.notify(to.context, () => to.admission.disconnected(entry), link);
  };
  const forget = from.onDeath(dispose);
  return {
    decision: async () =>
      await wire.call(from, to.context, async () => await to.admission.decision(entry), { link, sure: true }),
    inUse: async () => await call(() => to.admission.inUse(entry)),
    lost: async () => await call(async () => await new Promise<never>(() => {})),
    settle: async (settlement) => await call(async () => await to.settle(entry, settlement)),
    [Symbol.dispose]: dispose,
  };
}

async function sessionStub(
  parts: StubParts,
  from: Context,
  to: CellLife,
  message: ExchangeMessage,
): ReturnType<ExchangeApi["openSession"]> {
  const { wire } = parts;
  const link = new Link();
  let cut = false;
  const undone = ({ session }: { readonly session: Held }) => wire.notify(to.context, () => to.end(session));
  const opened = await wire.call(from, to.context, () => to.openSession(message), { undone });
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

/** The context that calls; code of a dead context does not go on. */
async function caller(): Promise<Context> {
  const context = here();
  if (!context.alive) await new Promise<never>(() => {});
  return context;
}
