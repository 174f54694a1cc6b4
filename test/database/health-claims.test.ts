/**
 * Two replicas that check the health of the same models: row locks divide the models between them, so that each is checked
 * once when it is due, and a model that a dead replica had claimed is checked by the other.
 */
import { randomUUID } from "node:crypto";
import { asc, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { modelHealth, modelHealthChecks } from "../../control/db/schema/models.ts";
import { addMissingHealth, claimDue } from "../../control/health/claim-due.ts";
import type { Model } from "../../shared/schema/model.ts";
import { startControl, type TestControl } from "../harness/control.ts";
import { type HttpSink, startHttpSink } from "../harness/http-sink.ts";

const MODELS = 24;

let replicas: readonly [TestControl, TestControl];
let upstream: HttpSink;
let ids: string[] = [];
let nowMs = Date.UTC(2026, 0, 1);

beforeAll(async () => {
  const now = (): Date => new Date(nowMs);
  const first = await startControl({ now });
  replicas = [first, await startControl({ beside: first, now })];
  upstream = await startHttpSink();
  for (let at = 0; at < MODELS; at += 1) {
    const body = { model_name: `m-${randomUUID()}`, api_base: `${upstream.url}/v1` };
    ids.push(((await (await first.request("POST", "/api/v1/models", body)).json()) as Model).id);
  }
  ids = ids.toSorted();
});
afterAll(async () => {
  await replicas[1].close();
  await upstream.close();
  await replicas[0].close();
});

async function checkedModels(): Promise<readonly string[]> {
  const rows = await replicas[0].connection.db
    .select({ id: modelHealthChecks.model_id })
    .from(modelHealthChecks)
    .orderBy(asc(modelHealthChecks.model_id));
  return rows.map(({ id }) => id);
}

async function tick(probers: readonly TestControl[]): Promise<void> {
  await Promise.all(
    probers.map(async ({ prober }) => {
      await prober.run();
      await prober.idle();
    }),
  );
}

it("check each model once", async () => {
  await tick(replicas);
  expect(await checkedModels()).toEqual(ids);
  expect(upstream.asked).toHaveLength(MODELS);
});

it("leave a model to the replica that claimed it until the claim is older than any check", async () => {
  await replicas[0].connection.db.delete(modelHealthChecks);
  nowMs += 3_600_000;
  const taken = await claimDue(replicas[0].connection.db, new Date(nowMs), 4, 120_000);
  await tick([replicas[1]]);
  expect(await checkedModels()).toEqual(ids.filter((id) => !taken.includes(id)));
  nowMs += 120_000;
  await tick([replicas[1]]);
  expect(await checkedModels()).toEqual(ids);
});

it("check a model that has no health record yet", async () => {
  const [first] = ids;
  await replicas[0].connection.db.delete(modelHealthChecks);
  await replicas[0].connection.db.delete(modelHealth).where(eq(modelHealth.model_id, first ?? ""));
  await addMissingHealth(replicas[0].connection.db, new Date(nowMs));
  await tick(replicas);
  expect(await checkedModels()).toEqual([first]);
});
