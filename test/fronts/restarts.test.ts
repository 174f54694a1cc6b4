/**
 * Two instances behind each front (docs/tls-and-fronts.md#several-instances), restarted one after the other under streams and
 * calls: every request is answered whole, and none is sent twice.
 * @module-tag long
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Cluster, type Instance, startCluster } from "../cluster/cluster.ts";
import type { Minted } from "../harness/gateway.ts";
import { ownPort } from "../harness/own-port.ts";
import { programPath } from "../harness/program-path.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { DATA_PLANE, type FrontProgram, useFront } from "./front-process.ts";
import { caddy, envoy, nginx } from "./front-programs.ts";
import { ask, type HttpsRequest, type Protocol } from "./https-client.ts";
import { startNameServer } from "./name-server.ts";

const STREAMS = 30;
const PROTOCOLS: readonly Protocol[] = ["h2", "http/1.1"];
/** More than Envoy keeps of a body by default. */
const FILLER = "x".repeat(200_000);

/** One port on two addresses, because a name in a Caddyfile has one port. */
const PORT = await ownPort();
const HOSTS = ["127.0.0.1", "127.0.0.2"] as const;

let cluster: Cluster;
let upstream: TestUpstream;
let names: Awaited<ReturnType<typeof startNameServer>>;
let instances: Instance[];

const join = async (host: string): Promise<Instance> =>
  await cluster.join({ env: { GATEWAY_PROXY_LISTEN: `${host}:${PORT}`, GATEWAY_DRAIN_SECS: "60" } });

beforeAll(async () => {
  [cluster, upstream, names] = await Promise.all([startCluster(1), startTestUpstream(), startNameServer(HOSTS)]);
  instances = [await join(HOSTS[0]), await join(HOSTS[1])];
});
afterAll(async () => {
  await cluster.close();
  await upstream.close();
  names.close();
});

const behind = (...dataPlanes: string[]) => ({ dataPlanes, console: "127.0.0.1:9" });
const both = () => behind(...HOSTS.map((host) => `${host}:${PORT}`));
const named = caddy(() => behind(`gateways.internal:${PORT}`));
const withNames: FrontProgram = {
  ...named,
  changes: (at) => [...named.changes(at), ["keepalive off", `keepalive off\n\t\t\tresolvers udp/${names.address}`]],
};
const fronts = [
  { name: "nginx", front: useFront(nginx(both)) },
  { name: "Caddy", front: useFront(withNames) },
  ...(programPath("envoy") === undefined ? [] : [{ name: "Envoy", front: useFront(envoy(both)) }]),
];
type Front = (typeof fronts)[number];

const request = ({ secret, model, mark }: Minted, more: Readonly<Record<string, unknown>>): HttpsRequest => ({
  host: DATA_PLANE,
  path: "/v1/chat/completions",
  headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
  body: JSON.stringify({ model: model.model_name, messages: [{ role: "user", content: mark }], ...more }),
});

/** What a client behind a front got that is not the whole answer; empty: nothing. */
async function lostOf({ name, front }: Front, at: number, asked: HttpsRequest, end: string): Promise<string> {
  const protocol = PROTOCOLS[at % PROTOCOLS.length] as Protocol;
  try {
    const { status, text } = await ask(front(), protocol, asked);
    const isWhole = status === 200 && text.trimEnd().endsWith(end);
    return isWhole ? "" : `${name}, ${protocol}: ${status} ${text.slice(-300)}`;
  } catch (error) {
    return `${name}, ${protocol}: ${String(error)}`;
  }
}

it("loses no request, and sends none twice, when each of two is restarted under load", async () => {
  const calls = await (instances[0] as Instance).gateway.mint(upstream.url, "delay=20");
  let calling = true;
  const answers: string[] = [];
  const client = async (front: Front, first: number): Promise<void> => {
    for (let at = first; calling; at += 1) {
      const asked = request(calls, at % 3 === 0 ? { filler: FILLER } : {});
      answers.push(await lostOf(front, at, asked, "}"));
    }
  };
  const clients = fronts.flatMap((front) => [client(front, 0), client(front, 1)]);
  for (const host of HOSTS) {
    const [stopped, other] = instances as [Instance, Instance];
    const streams = await other.gateway.mint(upstream.url, "chunks=40,pace=100");
    const lost: string[] = [];
    const streamed = fronts.flatMap((front) =>
      Array.from({ length: STREAMS }, async (_, at) => {
        const shown = await lostOf(front, at, request(streams, { stream: true }), "[DONE]");
        if (shown !== "") lost.push(shown);
      }),
    );
    await waitFor(
      () => upstream.seen(streams.mark).filter(({ chunksWritten }) => chunksWritten > 2).length + lost.length,
      (begun) => begun >= streamed.length,
    );
    const code = await stopped.stop();
    instances = [other, await join(host)];
    await Promise.all(streamed);
    expect({ code, lost, sent: upstream.seen(streams.mark).length }).toEqual({
      code: 0,
      lost: [],
      sent: streamed.length,
    });
  }
  calling = false;
  await Promise.all(clients);
  const lost = answers.filter((each) => each !== "");
  expect({ lost, sent: upstream.seen(calls.mark).length }).toEqual({ lost: [], sent: answers.length });
  process.stdout.write(
    `restarts: ${answers.length} calls and ${2 * STREAMS * fronts.length} streams whole behind ${fronts.map(({ name }) => name).join(", ")}\n`,
  );
});
