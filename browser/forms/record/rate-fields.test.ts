/** The limits per minute in the forms of tenants and keys. */
import { describe, expect, it } from "vitest";
import { RATE_FIELD_NAMES } from "../../../shared/fields/rates.ts";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { createTenantSchema, tenantQuotaSchema } from "../../../shared/schema/tenant.ts";
import { CREATE_KEY, EDIT_KEY } from "../keys/key-specs.ts";
import { bodyOf } from "./drafts.ts";
import { fieldSpecs } from "./field-specs.ts";
import { fieldHint, fieldLabel } from "./field-words.ts";

const FORMS = {
  "a new tenant": fieldSpecs(Object.keys(createTenantSchema.shape), TENANT_FIELDS),
  "a tenant's limits": fieldSpecs(Object.keys(tenantQuotaSchema.shape), TENANT_FIELDS),
  "a new key": CREATE_KEY.specs,
  "a key": EDIT_KEY.specs,
};

describe.each(Object.entries(FORMS))("the form of %s", (_name, specs) => {
  it("has every limit per minute as a number that cannot be null", () => {
    const rates = specs.filter(({ name }) => RATE_FIELD_NAMES.some((rate) => rate === name));
    expect(rates.map(({ name }) => name)).toEqual(RATE_FIELD_NAMES);
    for (const { kind, isNullable } of rates)
      expect({ kind, isNullable }).toEqual({ kind: "number", isNullable: false });
    expect(bodyOf(rates, {}, { tokens_per_minute: "500", requests_per_minute: "5" }, "UTC")).toEqual({
      tokens_per_minute: 500,
      requests_per_minute: 5,
    });
  });
});

it("names every limit per minute, and says what 0 means", () => {
  const texts = RATE_FIELD_NAMES.map((name) => ({ label: fieldLabel(name), hint: fieldHint(name) }));
  expect(texts).toEqual([
    { label: "Tokens per minute", hint: "0 means no limit." },
    { label: "Requests per minute", hint: "0 means no limit." },
  ]);
});
