/**
 * A body that configures what has no effect yet is answered with a warning. This file goes when
 * control/kernel/no-effect-warnings.ts goes.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

let control: TestControl;
let tenant: Tenant;

beforeAll(async () => {
  control = await startControl();
  tenant = (await (await control.request("POST", "/api/v1/tenants", { name: "t" })).json()) as Tenant;
});
afterAll(async () => {
  await control.close();
});

const warningsOf = async (method: string, path: string, body: object): Promise<readonly string[]> => {
  const response = await control.request(method, `/api/v1${path}`, body);
  expect([path, response.status]).toEqual([path, 200]);
  return ((await response.json()) as { warnings?: string[] }).warnings ?? [];
};

const COMPRESSION = expect.stringMatching(/^compression has no effect yet/) as string;
const BOONS = expect.stringMatching(/^boons have no effect yet/) as string;
const TOOLS = expect.stringMatching(/^tool servers have no effect yet/) as string;
const PROVISIONER = expect.stringMatching(/^the provisioner has no effect yet/) as string;

const ASSISTANT = expect.stringMatching(/^the assistant has no effect yet/) as string;

type Case = readonly [method: string, path: string, body: object, warnings: readonly string[]];
const CASES: readonly Case[] = [
  ["PATCH", "/tenants/{id}/guardrails", { policy: { action: "redact", output_scanners: ["pii"] } }, []],
  ["PATCH", "/tenants/{id}/compression", { policy: { enabled: true } }, [COMPRESSION]],
  ["PATCH", "/tenants/{id}/compression", { policy: { dedup: true } }, []],
  ["PATCH", "/tenants/{id}/compression", { policy: null }, []],
  ["POST", "/models", { model_name: "a", boons: ["vision"], tool_servers: ["docs"] }, [BOONS, TOOLS]],
  ["POST", "/models", { model_name: "b", boons: [], tool_servers: [] }, []],
  ["PUT", "/settings/boons", { vision_enabled: true }, [BOONS]],
  ["PUT", "/settings/boons", { vision_enabled: false, vision_max_images: 3 }, []],
  ["PUT", "/settings/auto-router", { classifier_enabled: true }, []],
  ["PUT", "/settings/auto-router", { classifier_model: "m" }, []],
  ["PUT", "/settings/jobsched", { enabled: true, url: "http://127.0.0.1:9", user: "u" }, [PROVISIONER]],
  ["PUT", "/settings/jobsched", { enabled: false }, []],
  ["PUT", "/settings/assistant", { enabled: true }, [ASSISTANT]],
  ["PUT", "/settings/assistant", { enabled: false, bench_max_requests: 9 }, []],
];

it.each(CASES)("%s %s %j is answered with %j", async (method, path, body, warnings) => {
  expect(await warningsOf(method, path.replace("{id}", tenant.id), body)).toEqual(warnings);
});

it("a model's warnings follow from the body, not from what is stored", async () => {
  const made = await control.request("POST", "/api/v1/models", { model_name: "c", boons: ["vision"] });
  const { id } = (await made.json()) as { id: string };
  const base = { upstream_model: "m", api_base: "" };
  expect(await warningsOf("PUT", `/models/${id}`, base)).toEqual([]);
  expect(await warningsOf("PUT", `/models/${id}`, { ...base, boons: ["compression"] })).toEqual([BOONS]);
});

it("the audit log has the warning, and no read does", async () => {
  await warningsOf("PATCH", `/tenants/${tenant.id}/compression`, { policy: { enabled: true } });
  const [entry] = (await (await control.request("GET", "/api/v1/audit?limit=1")).json()) as unknown[];
  expect(entry).toMatchObject({ action: "set_tenant_compression", detail: { warnings: [COMPRESSION] } });
  const read = await (await control.request("GET", `/api/v1/tenants/${tenant.id}`)).json();
  expect(read).toMatchObject({ compression_policy: { enabled: true } });
  expect(read).not.toHaveProperty("warnings");
});
