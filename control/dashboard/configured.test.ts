/**
 * Which parts of the console the session says are configured.
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startConsole, type TestConsole } from "../../test/harness/console.ts";
import type { ConsoleBrowser } from "../../test/harness/console-browser.ts";

let testing: TestConsole;
beforeAll(async () => {
  testing = await startConsole();
});
afterAll(async () => await testing.close());

const hasDeployments = async (browser: ConsoleBrowser): Promise<unknown> =>
  ((await (await browser.get("/api/session")).json()) as { has_deployments: unknown }).has_deployments;

it("says that there are deployments once a scheduler or a spec is set, to admins alone", async () => {
  const { control } = testing;
  const admin = await testing.admin();
  expect({ none: await hasDeployments(admin), nobody: await hasDeployments(testing.browser()) }).toEqual({
    none: false,
    nobody: false,
  });
  const made = await control.request("POST", "/api/v1/models", { model_name: "m", api_base: "http://127.0.0.1:9/v1" });
  const { id } = (await made.json()) as { id: string };
  const spec = { partition: "gpu", launch_command: "exec serve", serving_port: 8000, target_replicas: 0 };
  expect((await control.request("PUT", `/api/v1/models/${id}/managed`, spec)).ok).toBe(true);
  expect(await hasDeployments(admin)).toBe(true);
  await control.request("DELETE", `/api/v1/models/${id}/managed`);
  expect(await hasDeployments(admin)).toBe(false);
  const url = "http://127.0.0.1:9";
  expect((await control.request("PUT", "/api/v1/settings/jobsched", { url })).ok).toBe(true);
  expect(await hasDeployments(admin)).toBe(true);
  testing.management = async () => await Promise.reject(new Error("gone"));
  expect(await hasDeployments(admin)).toBe(true);
});

it("answers the session of an admin while the Management API does not answer", async () => {
  const { promise: never } = Promise.withResolvers<Response>();
  const admin = await testing.admin();
  testing.management = async () => await never;
  expect(await hasDeployments(admin)).toBe(true);
});
