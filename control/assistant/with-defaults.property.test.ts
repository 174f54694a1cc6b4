/** A body with its defaults is what the Management API makes of it (docs/rules/assistant.md#proposals). */
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { z } from "zod";
import { tenantBudgetSchema, tenantScheduleSchema } from "../../shared/schema/tenant.ts";
import { tenantGuardrailsSchema } from "../../shared/schema/tenant-policy.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { liveRoutesOf } from "../api/access.ts";
import { buildDocument } from "../api/document.ts";
import type { JsonSchema } from "../kernel/json-schema.ts";
import { type AssistantOperation, operationsOf } from "./operations.ts";
import { defaultFields, withDefaults } from "./with-defaults.ts";

let control: TestControl;
let operations: readonly AssistantOperation[];

beforeAll(async () => {
  control = await startControl();
  operations = operationsOf(buildDocument(control.app, "0"), liveRoutesOf(control.app));
});
afterAll(async () => {
  await control.close();
});

const policy = fc.record(
  {
    action: fc.constantFrom("block", "redact"),
    input_scanners: fc.subarray(["pii", "ban_keywords"]),
    ban_keywords: fc.constant(["x"]),
    fail_open: fc.boolean(),
    scan_assistant: fc.boolean(),
  },
  { requiredKeys: [] },
);

it.each<[string, z.ZodType, fc.Arbitrary<object>]>([
  [
    "patch_tenants_id_budget",
    tenantBudgetSchema,
    fc.record({ budget_tokens: fc.nat(), budget_period: fc.constantFrom("monthly", null) }, { requiredKeys: [] }),
  ],
  [
    "patch_tenants_id_schedule",
    tenantScheduleSchema,
    fc.record({ active_from: fc.constant(null), weekly_windows: fc.constant([]) }, { requiredKeys: [] }),
  ],
  ["patch_tenants_id_guardrails", tenantGuardrailsSchema, fc.record({ policy: fc.option(policy) })],
])("of %s", (name, schema, bodies) => {
  const documented = operations.find((one) => one.name === name)?.body ?? {};
  fc.assert(
    fc.property(bodies, (body) => {
      expect(withDefaults(documented, body)).toEqual(schema.parse(body));
    }),
  );
});

it("takes no defaults of a choice that may not be the one", () => {
  const choice = (name: string): JsonSchema => ({ type: "object", properties: { [name]: { default: 1 } } });
  expect(withDefaults({ anyOf: [choice("a"), choice("b")] }, {})).toEqual({});
  expect(withDefaults({ anyOf: [choice("a"), { type: "null" }] }, {})).toEqual({ a: 1 });
});

it("loses nothing of a body, whatever it and the schema are", () => {
  const schema = fc
    .oneof(fc.object(), fc.jsonValue())
    .map((one) => (typeof one === "object" && one !== null ? one : {}) as JsonSchema);
  fc.assert(
    fc.property(schema, fc.dictionary(fc.string(), fc.jsonValue()), (given, body) => {
      expect(withDefaults(given, body)).toMatchObject(body);
      for (const [name] of defaultFields(given, body)) expect(Object.hasOwn(body, name)).toBe(false);
    }),
  );
});
