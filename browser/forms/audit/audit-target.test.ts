/** Every object that a page shows is linked from the audit log, and nothing else. */
import { expect, it } from "vitest";
import type { AUDIT_ENTITIES } from "../../../shared/schema/audit-entities.ts";
import { auditTarget } from "./audit-target.ts";

const ID = "7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e";
const entry = (
  entity_type: (typeof AUDIT_ENTITIES)[number],
  change: Partial<Parameters<typeof auditTarget>[0]> = {},
) => ({
  action: "any",
  entity_type,
  entity_id: ID,
  detail: {},
  ...change,
});

it.each([
  ["model", { to: "/models/$modelId", params: { modelId: ID }, search: { tab: "connection" } }],
  ["managed_model", { to: "/deployments/$modelId", params: { modelId: ID } }],
  ["recipe", { to: "/deployments", search: { tab: "recipes", recipe: ID } }],
  ["mcp_server", { to: "/mcp", search: { server_id: ID } }],
  ["benchmark", { to: "/assistant", search: { tab: "benchmark", benchmark: ID } }],
] as const)("a %s has its page", (kind, target) => {
  expect(auditTarget(entry(kind))).toMatchObject(target);
});

it.each([
  ["usage_retention", { tab: "retention" }],
  ["auto_router", { tab: "routing" }],
  ["energy", { tab: "energy" }],
])("the setting %s has its part of the settings", (entity_id, search) => {
  expect(auditTarget(entry("settings", { entity_id }))).toMatchObject({ to: "/settings", search });
});

it("leads from the slots of a cell to the cell, whatever it is called", () => {
  const target = auditTarget(entry("settings", { action: "set_capacity", entity_id: "energy" }));
  expect(target).toMatchObject({ to: "/fairshare", search: { cell: "energy" } });
});

it("leads from an endpoint and a replica to their model, where the entry names it", () => {
  const detail = { model_id: ID };
  expect(auditTarget(entry("model_endpoint", { detail }))).toMatchObject({ to: "/models/$modelId" });
  expect(auditTarget(entry("model_replica", { detail }))).toMatchObject({ to: "/deployments/$modelId" });
  for (const model_id of [undefined, null, 1, "", "..", `${ID}/x`])
    expect(auditTarget(entry("model_endpoint", { detail: { model_id } }))).toBeNull();
});

it.each([
  entry("usage"),
  entry("gateway"),
  entry("settings"),
  entry("settings", { entity_id: "__proto__" }),
  entry("model_replica"),
])("has no page for $entity_type $entity_id without more", (one) => {
  expect(auditTarget(one)).toBeNull();
});
