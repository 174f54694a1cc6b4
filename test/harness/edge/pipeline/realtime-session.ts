/** A realtime session between two connections that a test holds, for tests of what it reserves and is billed. */
import { type AdmittedRequest, admit } from "../../../../edge/pipeline/admit/admit.ts";
import { authenticate } from "../../../../edge/pipeline/authenticate/authenticate.ts";
import { NOTHING_KNOWN } from "../../../../edge/pipeline/call/known.ts";
import { UpstreamProgress } from "../../../../edge/pipeline/forward/upstream-progress.ts";
import { prepare } from "../../../../edge/pipeline/prepare/prepare.ts";
import { RealtimeSession } from "../../../../edge/pipeline/realtime/realtime-session.ts";
import { parseNamed } from "../../../../edge/pipeline/resolve-model/parse-call.ts";
import { resolveModel } from "../../../../edge/pipeline/resolve-model/resolve-model.ts";
import { Settler } from "../../../../edge/pipeline/settle/settle.ts";
import { waitFor } from "../../wait-for.ts";
import type { TestPipeline } from "./world.ts";

type Event = Readonly<Record<string, unknown>>;

/** The gateway's end of a connection. */
class HeldConnection extends EventTarget {
  readonly events: Event[] = [];
  closed: { readonly code: number; readonly reason: string } | null = null;
  bufferedAmount = 0;
  binaryType = "blob";

  get readyState(): number {
    return this.closed === null ? WebSocket.OPEN : WebSocket.CLOSED;
  }

  accept(): void {
    this.events.length = 0;
  }

  send(message: string): void {
    this.events.push(JSON.parse(message) as Event);
  }

  close(code: number, reason: string): void {
    this.closed ??= { code, reason };
  }

  /** Messages arrive. */
  says(...events: readonly Event[]): void {
    for (const event of events) this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(event) }));
  }

  /** The connection is lost. */
  breaksOff(): void {
    this.dispatchEvent(new MessageEvent("error"));
  }

  /** The other side closes. */
  leaves(): void {
    this.dispatchEvent(Object.assign(new MessageEvent("close"), { code: 1000, reason: "" }));
  }

  count(type: string): number {
    return this.events.filter((event) => event["type"] === type).length;
  }

  /** Resolves when it was sent so many events of this type. */
  async got(type: string, count = 1): Promise<void> {
    await waitFor(
      () => this.count(type),
      (seen) => seen >= count,
      5_000,
    );
  }

  /** Resolves with the reason for which it was closed. */
  async end(): Promise<string> {
    const closed = await waitFor(
      () => this.closed,
      (found) => found !== null,
      5_000,
    );
    return closed?.reason ?? "";
  }
}

/** An open session of the world's tenant and model, between two connections of this kind. */
export async function sessionBetween<Connection extends EventTarget>(
  world: TestPipeline,
  connection: () => Connection,
) {
  const call = world.call({ method: "GET", body: null }, "/v1/realtime?model=tiny");
  const resolved = await resolveModel(call, parseNamed(call, await authenticate(call, NOTHING_KNOWN), "tiny"));
  const admitted: AdmittedRequest = await admit(call, await prepare(call, resolved), async (request) => request);
  const request = { ...admitted, upstream: new UpstreamProgress() };
  const [client, upstream] = [connection(), connection()];
  const sockets = { client, upstream } as unknown as ConstructorParameters<typeof RealtimeSession>[2];
  new RealtimeSession(call, request, sockets, new Settler(call, request), async (again) => again).start();
  return { client, upstream };
}

export const openSession = async (world: TestPipeline) => await sessionBetween(world, () => new HeldConnection());
