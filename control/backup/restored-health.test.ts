/**
 * What a restore does to the health of models: it stays with the upstream that it was found at.
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Backup } from "../../shared/schema/backup.ts";
import type { Model } from "../../shared/schema/model.ts";
import { type HealthScene, startHealthScene } from "../../test/harness/health-scene.ts";

let scene: HealthScene;
let checksDue = 0;

function countDue(): void {
  checksDue += 1;
}

beforeAll(async () => {
  scene = await startHealthScene({ checkIsDue: countDue });
});
afterAll(async () => {
  await scene.close();
});

it("forgets what was known of another upstream, and has what is new looked at", async () => {
  const models: Model[] = [];
  for (let count = 0; count < 3; count += 1) models.push(await scene.model({ health: { failure_threshold: 1 } }));
  scene.answers = { completions: { status: 401 } };
  await scene.tick();
  const file = await scene.send<Backup>("GET", "/backup/export");
  const [kept, moved, gone] = models as [Model, Model, Model];
  const data = {
    ...file.data,
    models: file.data.models.map((model) => (model.id === moved.id ? { ...model, upstream_model: "other" } : model)),
  };
  await scene.control.request("DELETE", `/api/v1/models/${gone.id}`);
  checksDue = 0;
  await scene.send("POST", "/backup/restore", { ...file, data });
  expect(checksDue).toBe(1);
  expect(await scene.summary(kept)).toMatchObject({ status: "unhealthy", consecutive_failures: 1 });
  for (const model of [moved, gone])
    expect(await scene.summary(model)).toMatchObject({ status: "unknown", consecutive_failures: 0, alert_state: "ok" });
  scene.answers = {};
  await scene.tick();
  for (const model of [moved, gone]) expect(await scene.summary(model)).toMatchObject({ status: "healthy" });
  expect(await scene.summary(kept)).toMatchObject({ status: "unhealthy" });
});
