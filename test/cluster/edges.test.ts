/** Data planes alone as instances of a cluster, with one control service beside them, as in containers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CONTROL_ARGS } from "../../infra/local/control.ts";
import { ownPort } from "../harness/own-port.ts";
import { startPlanes } from "../harness/planes.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { bucketOptions, startBucketServer } from "./bucket-server.ts";

const EDGE = join(import.meta.dirname, "../../infra/local/edge-main.ts");

it("an instance serves what another one has served, also when that one has left", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-edges-"));
  const [upstream, bucket] = await Promise.all([startTestUpstream(), startBucketServer()]);
  const inCluster = async (): Promise<Record<string, string>> => {
    return {
      GATEWAY_CLUSTER_BUCKET: "s3://gateway/objects",
      GATEWAY_CLUSTER_OPTIONS: bucketOptions(bucket.url),
      GATEWAY_CLUSTER_LISTEN: `127.0.0.1:${await ownPort()}`,
      GATEWAY_CLUSTER_KEY: "a secret that every instance of the cluster has",
    };
  };
  const planes = await startPlanes(
    {
      control: { command: process.execPath, args: CONTROL_ARGS },
      edge: { command: process.execPath, args: [EDGE] },
    },
    join(folder, "one"),
    await inCluster(),
  );
  try {
    const { gateway } = planes;
    const second = await planes.join(join(folder, "two"), await inCluster());
    const minted = await gateway.mint(upstream.url);
    const ask = async (origin: string): Promise<string> => {
      const response = await fetch(`${origin}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
        body: JSON.stringify({ model: minted.model.model_name, messages: [{ role: "user", content: minted.mark }] }),
      });
      expect({ status: response.status, body: await response.json() }).toEqual({
        status: 200,
        body: expect.anything(),
      });
      return response.headers.get("x-gateway-request-id") ?? "";
    };
    const requests = [await ask(gateway.proxyUrl), await ask(second)];
    expect(await planes.edge.end()).toBe(0);
    requests.push(await ask(second));
    for (const request of requests)
      expect(await gateway.row(minted.tenant.id, request)).toMatchObject({ status_code: 200 });
  } finally {
    await planes.close();
    await upstream.close();
    await bucket.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
