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
import { HeldSocket } from "./held-socket.ts";
import type { TestPipeline } from "./world.ts";

export async function openSession(world: TestPipeline) {
  const call = world.call({ method: "GET", body: null }, "/v1/realtime?model=tiny");
  const resolved = await resolveModel(call, parseNamed(call, await authenticate(call, NOTHING_KNOWN), "tiny"));
  const admitted: AdmittedRequest = await admit(call, await prepare(call, resolved), async (request) => request);
  const request = { ...admitted, upstream: new UpstreamProgress() };
  const [client, upstream] = [new HeldSocket(), new HeldSocket()];
  const sockets = { client, upstream } as unknown as ConstructorParameters<typeof RealtimeSession>[2];
  new RealtimeSession(call, request, sockets, new Settler(call, request), async (again) => again).start();
  return { client, upstream };
}
