/** The limits per minute in the forms of tenants and keys. */
import { describe, expect, it } from "vitest";
import { isRateField, RATE_FIELD_NAMES } from "../../../shared/fields/rates.ts";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { createTenantSchema, tenantQuotaSchema } from "../../../shared/schema/tenant.ts";
import { CREATE_KEY, EDIT_KEY } from "../keys/key-specs.ts";
import { bodyOf, changedBody, draftOf } from "./drafts.ts";
import { factText } from "./fact-text.ts";
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

  it("shows no limit as an empty field, and stores an empty field as no limit", () => {
    const rates = specs.filter(({ name }) => isRateField(name));
    const empty = draftOf(rates, { tokens_per_minute: 0, requests_per_minute: 5 }, "UTC");
    expect(empty).toEqual({ tokens_per_minute: "", requests_per_minute: "5" });
    const emptied = { ...empty, requests_per_minute: "" };
    expect(changedBody(rates, { tokens_per_minute: 0, requests_per_minute: 5 }, emptied, "UTC")).toEqual({
      requests_per_minute: 0,
    });
    expect(RATE_FIELD_NAMES.map((name) => factText(name, 0, "UTC"))).toEqual(["No limit", "No limit"]);
  });
});

it("names every limit per minute, and says what an empty one means", () => {
  const texts = RATE_FIELD_NAMES.map((name) => ({ label: fieldLabel(name), hint: fieldHint(name) }));
  expect(texts).toEqual([
    { label: "Tokens per minute", hint: "Leave empty for no limit." },
    { label: "Requests per minute", hint: "Leave empty for no limit." },
  ]);
});
