/** Who reaches the port between the instances of a cluster without its key: gets nothing, and disturbs nobody. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CONTROL_ARGS } from "../../infra/local/control.ts";
import { ownPort } from "../harness/own-port.ts";
import { startPlanes } from "../harness/planes.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import { bucketOptions, startBucketServer } from "./bucket-server.ts";

const EDGE = join(import.meta.dirname, "../../infra/local/edge-main.ts");
const KEY = "a secret that every instance of the cluster has";

it("a stranger at the port between instances gets nothing, and requests are served", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-strangers-"));
  const [upstream, bucket, port] = await Promise.all([startTestUpstream(), startBucketServer(), ownPort()]);
  const inCluster = (listen: number): Record<string, string> => ({
    GATEWAY_CLUSTER_BUCKET: "s3://gateway/objects",
    GATEWAY_CLUSTER_OPTIONS: bucketOptions(bucket.url),
    GATEWAY_CLUSTER_LISTEN: `127.0.0.1:${listen}`,
    GATEWAY_CLUSTER_KEY: KEY,
  });
  const planes = await startPlanes(
    {
      control: { command: process.execPath, args: CONTROL_ARGS },
      edge: { command: process.execPath, args: [EDGE] },
    },
    join(folder, "one"),
    inCluster(port),
  );
  const strangers: Socket[] = [];
  const heard: string[] = [];
  const say = (bytes: Buffer | string): void => {
    const socket = connect(port, "127.0.0.1");
    socket.on("data", (data) => heard.push(data.toString("latin1"))).on("error", () => undefined);
    socket.write(bytes);
    strangers.push(socket);
  };
  try {
    const { gateway } = planes;
    const second = await planes.join(join(folder, "two"), inCluster(await ownPort()));
    const minted = await gateway.mint(upstream.url);
    const ask = async (origin: string): Promise<number> => {
      const response = await fetch(`${origin}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
        body: JSON.stringify({ model: minted.model.model_name, messages: [{ role: "user", content: minted.mark }] }),
      });
      await response.arrayBuffer();
      return response.status;
    };
    expect(await ask(second)).toBe(200);
    for (const path of ["/", "/internal/stats", "/v1/models", "/objects"])
      say(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\n\r\n`);
    for (const credential of ["", "authorization: Bearer wrong\r\n", "proxy-authorization: Bearer wrong\r\n"])
      say(`CONNECT cluster:1 HTTP/1.1\r\nhost: cluster:1\r\n${credential}\r\n`);
    say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    say(Buffer.concat([Buffer.from([0, 0, 0, 0, 1, 0, 0, 0]), randomBytes(8)]));
    say(Buffer.alloc(1024, 0xff));
    for (let nth = 0; nth < 50; nth += 1) say(randomBytes(1024 * (nth + 1)));
    for (let nth = 0; nth < 300; nth += 1) say("");
    const statuses: number[] = [];
    for (let nth = 0; nth < 10; nth += 1) statuses.push(await ask(nth % 2 === 0 ? second : gateway.proxyUrl));
    const refusals = await waitFor(
      () => heard.length,
      (count) => count >= 7,
    );
    expect({
      statuses: new Set(statuses),
      answered: refusals >= 7,
      others: heard.filter((text) => !text.startsWith("HTTP/1.1 4") || text.includes(KEY)),
    }).toEqual({ statuses: new Set([200]), answered: true, others: [] });
  } finally {
    for (const socket of strangers) socket.destroy();
    await planes.close();
    await upstream.close();
    await bucket.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
