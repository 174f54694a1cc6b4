/**
 * Three instances that are restarted one after another while streams and calls run (docs/cluster.md): clients that try another
 * instance when a connection is refused, as fronts do, lose nothing, and nothing is sent twice.
 * @module-tag long
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Minted } from "../harness/gateway.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type Cluster, type Instance, startCluster } from "./cluster.ts";

const STREAMS = 30;
const CLIENTS = 6;
/** Longer than a stream. */
const OPTIONS = { env: { GATEWAY_DRAIN_SECS: "60" } };

let cluster: Cluster;
let upstream: TestUpstream;
/** The instances that a client tries, in order. */
let instances: Instance[];

beforeAll(async () => {
  [cluster, upstream] = await Promise.all([startCluster(), startTestUpstream()]);
  instances = [await cluster.join(OPTIONS), await cluster.join(OPTIONS), await cluster.join(OPTIONS)];
});
afterAll(async () => {
  await cluster.close();
  await upstream.close();
});

/** The answer of the first instance that takes a connection, from the one at this place on. A connection is for one request. */
async function sent(minted: Minted, from: number, stream: boolean) {
  const order = [...instances.slice(from % instances.length), ...instances.slice(0, from % instances.length)];
  for (const { gateway } of order) {
    try {
      const response = await gateway.chat(minted, { stream, headers: { connection: "close" } });
      const text = await response.text();
      const isWhole = response.status === 200 && (!stream || text.trimEnd().endsWith("[DONE]"));
      return {
        isWhole,
        shown: isWhole ? "" : `${response.status} ${text.slice(-300)}`,
        id: response.headers.get("x-gateway-request-id") ?? "",
      };
    } catch (error) {
      const { cause } = error as { cause?: NodeJS.ErrnoException };
      if (cause?.code !== "ECONNREFUSED")
        return { isWhole: false, shown: `${String(error)}: ${String(cause)}`, id: "" };
    }
  }
  return { isWhole: false, shown: "refused by every instance", id: "" };
}

it("loses no request, and tears none, when each of three is restarted under load", async () => {
  const [{ gateway }] = instances as [Instance];
  const calls = await gateway.mint(upstream.url, "delay=20");
  let calling = true;
  const answers: Awaited<ReturnType<typeof sent>>[] = [];
  const client = async (from: number): Promise<void> => {
    while (calling) answers.push(await sent(calls, from + answers.length, false));
  };
  const clients = Array.from({ length: CLIENTS }, async (_, at) => await client(at));
  for (let restarted = 0; restarted < 3; restarted += 1) {
    const streams = await gatewayOf(instances).mint(upstream.url, "chunks=40,pace=100");
    const streamed = Array.from({ length: STREAMS }, async (_, at) => await sent(streams, at, true));
    await waitFor(
      () => upstream.seen(streams.mark).filter(({ chunksWritten }) => chunksWritten > 2).length,
      (begun) => begun === STREAMS,
    );
    const stopped = instances[0] as Instance;
    const code = await stopped.stop();
    instances = [...instances.filter((each) => each !== stopped), await cluster.join(OPTIONS)];
    const lost = (await Promise.all(streamed)).filter(({ isWhole }) => !isWhole).map(({ shown }) => shown);
    expect({ code, lost, calls: upstream.seen(streams.mark).length }).toEqual({ code: 0, lost: [], calls: STREAMS });
  }
  calling = false;
  await Promise.all(clients);
  expect(answers.filter(({ isWhole }) => !isWhole).map(({ shown }) => shown)).toEqual([]);
  expect(upstream.seen(calls.mark).length).toBe(answers.length);
  const ids = await waitFor(
    async () => await gatewayOf(instances).requestIds(calls.tenant.id),
    (found) => found.length >= answers.length,
  );
  expect(new Set(ids)).toEqual(new Set(answers.map(({ id }) => id)));
  process.stdout.write(`restarts: ${answers.length} calls and ${3 * STREAMS} streams whole\n`);
});

function gatewayOf([first]: readonly Instance[]): Instance["gateway"] {
  return (first as Instance).gateway;
}
