/**
 * A setting that cannot act without another one is answered with a warning (docs/rules/assistant.md#model).
 *
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

const warningsOf = async (method: string, path: string, body: object): Promise<readonly string[]> => {
  const response = await control.request(method, `/api/v1${path}`, body);
  expect({ path, status: response.status }).toEqual({ path, status: 200 });
  return ((await response.json()) as { warnings?: string[] }).warnings ?? [];
};

const ASSISTANT = expect.stringMatching(/^the assistant is on but cannot answer/) as string;

type Case = readonly [method: string, path: string, body: object, warnings: readonly string[]];
const CASES: readonly Case[] = [
  ["POST", "/models", { model_name: "a", boons: ["vision"], tool_servers: ["docs"] }, []],
  ["POST", "/models", { model_name: "b", boons: [], tool_servers: [] }, []],
  ["POST", "/models", { model_name: "d", boons: ["compression"] }, []],
  ["PUT", "/settings/boons", { vision_enabled: true }, []],
  ["PUT", "/settings/boons", { compression_enabled: true }, []],
  ["PUT", "/settings/boons", { vision_enabled: false, vision_max_images: 3 }, []],
  ["PUT", "/settings/auto-router", { classifier_enabled: true }, []],
  ["PUT", "/settings/auto-router", { classifier_model: "m" }, []],
  ["PUT", "/settings/jobsched", { enabled: true, url: "http://127.0.0.1:9", user: "u" }, []],
  ["PUT", "/settings/jobsched", { enabled: false }, []],
  ["PUT", "/settings/assistant", { enabled: true }, [ASSISTANT]],
  ["PUT", "/settings/assistant", { enabled: true, brain_model: "m" }, []],
  ["PUT", "/settings/assistant", { enabled: true }, []],
  ["PUT", "/settings/assistant", { enabled: true, brain_model: null }, [ASSISTANT]],
  ["PUT", "/settings/assistant", {}, []],
  ["PUT", "/settings/assistant", { enabled: false, bench_max_requests: 9 }, []],
];

it.each(CASES)("%s %s %j is answered with %j", async (method, path, body, warnings) => {
  expect(await warningsOf(method, path, body)).toEqual(warnings);
});

it("the audit log has the warning, and no read does", async () => {
  await warningsOf("PUT", "/settings/assistant", { enabled: true });
  const [entry] = (await (await control.request("GET", "/api/v1/audit?limit=1")).json()) as unknown[];
  expect(entry).toMatchObject({ action: "set_assistant_settings", detail: { warnings: [ASSISTANT] } });
  const read = await (await control.request("GET", "/api/v1/settings/assistant")).json();
  expect(read).toMatchObject({ enabled: true });
  expect(read).not.toHaveProperty("warnings");
});
