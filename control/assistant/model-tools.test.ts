/** What the model is offered, and what its calls mean (docs/rules/assistant.md#tools). */
import { expect, it } from "vitest";
import { OPERATIONS } from "../../test/harness/control/assistant-operations.ts";
import { checkCall, modelTools } from "./model-tools.ts";
import { operationName } from "./operations.ts";

const ID = "7b0c3c3e-0000-4000-8000-000000000001";
const checked = (name: string, args: unknown) =>
  checkCall({ id: "c", name, arguments: typeof args === "string" ? args : JSON.stringify(args) }, OPERATIONS);
const change = (args: object) => checked("propose_change", args);
const why = (given: ReturnType<typeof checked>) => (given.kind === "answer" ? given.text : given);

it("names operations by method and path", () => {
  expect(operationName("PUT", "/models/{id}/endpoints/{endpoint_id}")).toBe("put_models_id_endpoints_endpoint_id");
});

it("offers each read, and all writes by two tools", () => {
  const tools = modelTools(OPERATIONS).map(({ function: { name } }) => name);
  expect(tools).toEqual([
    "get_tenants",
    "get_tenants_id",
    "get_models_health",
    "get_models_id",
    "describe_change",
    "propose_change",
  ]);
  expect(modelTools(OPERATIONS)[0]?.function.parameters).toEqual({
    type: "object",
    properties: { q: { type: "string" } },
    required: [],
  });
  expect(modelTools(OPERATIONS.filter(({ writes }) => !writes))).toHaveLength(4);
});

it("bounds a schema that refers to itself", () => {
  expect(JSON.stringify(OPERATIONS.find(({ name }) => name === "post_tenants_id_keys")?.body).length).toBeLessThan(
    1000,
  );
});

it("reads by an address in which every value is quoted", () => {
  expect(checked("get_tenants", { q: "a&b=c#d", limit: 5, q2: "x" })).toMatchObject({
    kind: "read",
    call: { method: "GET", path: "/tenants?q=a%26b%3Dc%23d", body: null },
  });
  expect(checked("get_tenants_id", { id: ID })).toMatchObject({ call: { path: `/tenants/${ID}` } });
});

it.each([
  ["get_tenants_id", {}],
  ["get_tenants_id", { id: ".." }],
  ["get_tenants_id", { id: "a/b" }],
  ["get_tenants_id", { id: "a\\b" }],
  ["get_tenants_id", { id: {} }],
  ["get_tenants_id", { id: "x".repeat(1001) }],
  ["get_backup_export", {}],
  ["patch_tenants_id_status", { id: ID, status: "suspended" }],
  ["get_tenants", "[]"],
  ["get_tenants", "{"],
  ["get_tenants", `${"[".repeat(100_000)}`],
  ["get_tenants", `{"q":${'{"a":'.repeat(100)}1${"}".repeat(100)}}`],
  ["", {}],
  ["__proto__", {}],
  ["propose_change", { change: "get_tenants" }],
  ["propose_change", { change: "put_settings_jobsched_resolved" }],
  ["propose_change", { change: "patch_tenants_id_status", parameters: { id: ID } }],
  ["propose_change", { change: "patch_tenants_id_status", parameters: { id: ID }, body: [] }],
  ["propose_change", { change: "patch_tenants_id_status", body: { status: "active" } }],
  ["propose_change", { change: "delete_tenants_id", parameters: { id: ID }, body: { really: true } }],
])("refuses %s with %j", (name, args) => {
  expect(checked(name, args)).toMatchObject({ kind: "answer", isRefusal: true });
});

it("refuses a field that the route would ignore, and says which there are", () => {
  const body = { status: "suspended", delete_everything: true };
  const text = why(change({ change: "patch_tenants_id_status", parameters: { id: ID }, body }));
  expect(text).toContain('unknown field "delete_everything"');
  expect(text).toContain('"enum":["active","suspended"]');
});

it("refuses a field inside of a field as well: the route would empty what it stands for", () => {
  const ask = (policy: object) =>
    change({ change: "patch_tenants_id_guardrails", parameters: { id: ID }, body: { policy } });
  expect(ask({ action: "block", input_scanners: ["pii"] })).toMatchObject({ kind: "propose" });
  expect(why(ask({ action: "block", input_scaners: ["pii"] }))).toContain('unknown field "policy.input_scaners"');
});

it("proposes a change that is completely named", () => {
  expect(
    change({ change: "patch_tenants_id_status", parameters: { id: ID }, body: { status: "suspended" } }),
  ).toMatchObject({
    kind: "propose",
    call: { method: "PATCH", path: `/tenants/${ID}/status`, body: '{"status":"suspended"}' },
  });
  expect(change({ change: "delete_tenants_id", parameters: { id: ID } })).toMatchObject({ call: { body: null } });
});

it("describes a change without making one", () => {
  const described = checked("describe_change", { change: "patch_tenants_id_status" });
  expect(described).toMatchObject({ kind: "answer", isRefusal: false });
  expect(why(described)).toContain('"required":["status"]');
});
