/** Batches take turns, whatever the others have (docs/rules/batches.md#windows). The data plane is a server that answers 404. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { LINE_HEADERS } from "../../shared/wire/batch-lines.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { waitFor } from "../../test/harness/wait-for.ts";
import { createLog } from "../kernel/log.ts";
import { BatchRuns } from "./batch-runs.ts";
import { LineSender } from "./line-sender.ts";
import { waitingModels } from "./line-store.ts";
import { batches, batchLines } from "./tables.ts";

const sent: string[] = [];
const cell = createServer((request, response) => {
  const body: Buffer[] = [];
  request.on("data", (piece: Buffer) => body.push(piece));
  request.on("end", () => {
    const { model } = JSON.parse(Buffer.concat(body).toString("utf8")) as { model: string };
    sent.push(model);
    response.writeHead(200, { [LINE_HEADERS.status]: "404" }).end('{"error":{"code":"x"}}');
  });
});
let control: TestControl;
let runs: BatchRuns;

beforeAll(async () => {
  control = await startControl();
  await new Promise<void>((listening) => cell.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(cell.address() as AddressInfo).port}`;
  const sender = new LineSender([{ cell: "eu", url }], "token");
  const store = { put: async () => undefined };
  runs = new BatchRuns({
    ctx: control.ctx,
    sender,
    store,
    bucket: null,
    usageRetentionDays: 30,
    log: createLog({ write: () => undefined }),
  });
});
afterAll(async () => {
  runs.end();
  cell.close();
  cell.closeAllConnections();
  await control.close();
});

async function newTenant(): Promise<string> {
  const made = await control.request("POST", "/api/v1/tenants", { name: `of-runs-${randomUUID()}` });
  return ((await made.json()) as Tenant).id;
}

async function batchOf(models: readonly string[], tenantId?: string): Promise<string> {
  const { db } = control.ctx;
  const [batch] = await db
    .insert(batches)
    .values({
      tenant_id: tenantId ?? (await newTenant()),
      key_id: randomUUID(),
      endpoint: "/v1/embeddings",
      input_file_id: randomUUID(),
      status: "in_progress",
      lines_total: models.length,
      expires_at: new Date(Date.now() + 60_000),
    })
    .returning();
  if (batch === undefined) throw new Error("no batch");
  const lines = models.map((model, at) => ({ batch_id: batch.id, n: at + 1, custom_id: `${at}`, model }));
  await db.insert(batchLines).values(lines.map((line) => ({ ...line, body: JSON.stringify({ model: line.model }) })));
  return batch.id;
}

it("a batch whose lines have a model each does not keep others from their turns", async () => {
  const many = await batchOf(Array.from({ length: 800 }, (_, at) => `unknown-${at}`));
  await batchOf(["shared"]);
  expect((await waitingModels(control.ctx.db, many)).length).toBeLessThan(500);
  await waitFor(
    async () => {
      await runs.tick();
      return sent.indexOf("shared");
    },
    (at) => at !== -1,
  );
  expect(sent.indexOf("shared")).toBeLessThan(50);
});

it("a tenant with many batches keeps no other from its turns", { tags: ["check"] }, async () => {
  await control.ctx.db.delete(batches);
  sent.length = 0;
  const many = await newTenant();
  for (let at = 0; at < 40; at += 1)
    await batchOf(
      Array.from({ length: 20 }, () => "other"),
      many,
    );
  await batchOf(Array.from({ length: 20 }, () => "mine"));
  await waitFor(
    async () => {
      await runs.tick();
      return sent.filter((model) => model === "mine").length;
    },
    (count) => count === 20,
  );
  expect(sent.lastIndexOf("mine")).toBeLessThan(400);
});
