/** A form that nobody has touched says what the record says, and what is typed comes out as it was meant. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KEY_FIELDS } from "../../../shared/fields/key-fields.ts";
import { MODEL_FIELDS } from "../../../shared/fields/model-fields.ts";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { modelReliabilitySchema } from "../../../shared/schema/model.ts";
import { updateTenantSchema } from "../../../shared/schema/tenant.ts";
import { changesBetween, rebased, unlessChanged } from "./conflicts.ts";
import { bodyOf, changedBody, draftOf, emptiedFields, errorsOf, serverErrors, touchedFields } from "./drafts.ts";
import { fieldSpecs, objectSpecs, secretSpec, valueSpec } from "./field-specs.ts";

const zone = fc.constantFrom("UTC", "Asia/Kolkata", "America/Los_Angeles", "Atlantis/Nowhere");
const SPECS = fieldSpecs(Object.keys(KEY_FIELDS), KEY_FIELDS);
const instant = fc
  .integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2049, 11, 31) })
  .map((epochMs) => new Date(epochMs).toISOString());
const record = fc.record({
  name: fc.string(),
  description: fc.string(),
  disabled: fc.boolean(),
  expires_at: fc.option(instant),
  allowed_models: fc.option(fc.array(fc.string())),
  budget_tokens: fc.option(fc.maxSafeNat()),
  budget_cost_usd: fc.option(fc.double({ min: 0, noNaN: true })),
  budget_period: fc.option(fc.constantFrom("lifetime", "monthly", "term")),
  budget_started_at: fc.option(instant),
});
const specs = SPECS.filter(({ name }) => ["id", "tenant_id"].every((one) => one !== name));

describe("a form", () => {
  it("keeps every value that nobody touches to the last digit", () => {
    fc.assert(
      fc.property(record, zone, (stored, name) => {
        const draft = draftOf(specs, stored, name);
        expect(touchedFields(specs, stored, draft, name)).toEqual([]);
        expect(bodyOf(specs, stored, draft, name)).toMatchObject(stored);
      }),
    );
  });

  it("sends the newest revision unless one of its own fields has changed", () => {
    fc.assert(
      fc.property(record, record, (before, now) => {
        const [written, later] = [
          { ...before, rev: 1 },
          { ...now, name: before.name, rev: 2 },
        ];
        expect(unlessChanged(["name"], written, later)).toBe(later);
        expect(unlessChanged(["name"], written, { ...later, name: `${before.name}x` })).toBe(written);
      }),
    );
  });

  it("keeps what was typed on top of a newer record, and takes the rest from it", () => {
    fc.assert(
      fc.property(record, record, zone, fc.string({ minLength: 1 }), (before, now, name, typed) => {
        const draft = { ...draftOf(specs, before, name), name: `${before.name}${typed}` };
        const after = rebased(specs, draft, before, now, name);
        expect(bodyOf(specs, now, after, name)).toMatchObject({ ...now, name: `${before.name}${typed}` });
      }),
    );
  });

  it("sends a secret only when one is given or removed", () => {
    const secrets = [secretSpec("token", "token_set")];
    fc.assert(
      fc.property(fc.boolean(), fc.boolean(), fc.string(), (isStored, isRemoved, given) => {
        const stored = { token_set: isStored };
        const untouched = draftOf(secrets, stored, "UTC");
        expect(bodyOf(secrets, stored, untouched, "UTC")).toEqual({});
        const body = bodyOf(secrets, stored, { token: { isStored, isRemoved, text: given } }, "UTC");
        expect(body).toEqual(given.trim() !== "" ? { token: given } : isRemoved ? { token: "" } : {});
      }),
    );
  });

  it("neither removes nor replaces a secret for blanks that are typed", () => {
    const secrets = [secretSpec("token", "token_set")];
    const blank = fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\u00a0", "\u2003", "\ufeff") });
    fc.assert(
      fc.property(fc.boolean(), fc.boolean(), blank, (isStored, isRemoved, given) => {
        const stored = { token_set: isStored };
        const draft = { token: { isStored, isRemoved, text: given } };
        expect(touchedFields(secrets, stored, draft, "UTC")).toEqual(isRemoved ? ["token"] : []);
        expect(bodyOf(secrets, stored, draft, "UTC")).toEqual(isRemoved ? { token: "" } : {});
      }),
    );
  });

  it("has a control for every plain field of a body", () => {
    const names = Object.keys(updateTenantSchema.shape);
    expect(fieldSpecs(names, TENANT_FIELDS).map(({ name }) => name)).toEqual(names);
    const kinds = objectSpecs(TENANT_FIELDS.guardrails_policy.value.unwrap()).map(({ name, kind }) => [name, kind]);
    expect(Object.fromEntries(kinds)).toEqual({
      action: "choice",
      input_scanners: "choices",
      output_scanners: "choices",
      guard_model: "text",
      ban_keywords: "lines",
      fail_open: "flag",
      scan_assistant: "flag",
    });
  });

  it.each([
    ["", null],
    ["12", 12],
    ["1e3", 1000],
    ["1,000", "1,000"],
    ["0x10", "0x10"],
    ["many", "many"],
  ])("reads the number %j as %j", (typed, value) => {
    const [spec] = fieldSpecs(["budget_tokens"], TENANT_FIELDS);
    if (spec === undefined) throw new Error("the field is gone");
    expect(bodyOf([spec], {}, { budget_tokens: typed }, "UTC")).toEqual({ budget_tokens: value });
  });

  it("sends what was changed, and what the record lacks as it is shown", () => {
    const policy = objectSpecs(TENANT_FIELDS.guardrails_policy.value.unwrap());
    const stored = {
      action: "log_only",
      input_scanners: ["pii"],
      output_scanners: [],
      guard_model: null,
      ban_keywords: [],
      fail_open: true,
      scan_assistant: false,
    };
    const closed = { ...draftOf(policy, stored, "UTC"), fail_open: false };
    expect(changedBody(policy, stored, closed, "UTC")).toEqual({ fail_open: false });
    // somebody else turns the policy off meanwhile, and what was typed is kept
    const kept = rebased(policy, closed, stored, {}, "UTC");
    expect(changedBody(policy, {}, kept, "UTC")).toEqual({
      action: "block",
      input_scanners: [],
      output_scanners: [],
      guard_model: null,
      ban_keywords: [],
      fail_open: false,
      scan_assistant: false,
    });
  });

  it("sends no secret that is not given, and nothing of a control that shows nothing", () => {
    const lacking = [secretSpec("token", "token_set"), valueSpec("node_aliases")];
    expect(changedBody(lacking, { token_set: true }, draftOf(lacking, {}, "UTC"), "UTC")).toEqual({});
  });

  it("knows which emptied fields would not be stored as empty", () => {
    const reliability = fieldSpecs(Object.keys(modelReliabilitySchema.shape), MODEL_FIELDS);
    const stored = {
      request_timeout_secs: 30,
      max_retries: 5,
      retry_backoff_ms: 2000,
      endpoint_selection_mode: "failover",
    };
    const numbers = ["request_timeout_secs", "max_retries", "retry_backoff_ms"] as const;
    fc.assert(
      fc.property(zone, fc.subarray([...numbers]), fc.constantFrom("", " ", "0", "7"), (name, typedInto, typed) => {
        const shown = draftOf(reliability, stored, name);
        expect(emptiedFields(reliability, stored, shown, name)).toEqual([]);
        const draft = { ...shown, ...Object.fromEntries(typedInto.map((field) => [field, typed])) };
        const needed = typedInto.filter((field) => typed.trim() === "" && field !== "request_timeout_secs");
        expect(emptiedFields(reliability, stored, draft, name)).toEqual(needed);
      }),
    );
  });

  it("shows an error at its field, and elsewhere what concerns no field", () => {
    const parsed = updateTenantSchema.safeParse({ name: "", timezone: "Nowhere" });
    const issues = parsed.success ? [] : parsed.error.issues;
    expect(errorsOf(issues, ["name"])).toEqual({
      name: "must not be blank",
      "": "timezone must be an IANA time zone name",
    });
    expect(serverErrors("policy.guard_model", "is required", ["guard_model"])).toEqual({ guard_model: "is required" });
    expect(serverErrors("__proto__", "no", ["name"])).toEqual({ "": "no" });
    expect(serverErrors(null, "no", ["name"])).toEqual({ "": "no" });
  });
});

describe("changesBetween", () => {
  it("names what is different, whatever the order of members", () => {
    const before = { a: 1, b: { x: 1, y: [1, 2] }, c: null };
    expect(changesBetween(["a", "b", "c"], before, { c: 0, b: { y: [1, 2], x: 1 }, a: 1 })).toEqual([
      { name: "c", before: null, now: 0 },
    ]);
  });
});
