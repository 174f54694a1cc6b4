import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callerRefusal, mayUseModel, servedUntilMs } from "./caller-access.ts";

const tenantOf = (changes: { status?: "active" | "suspended"; active_until_ms?: number | null } = {}) => ({
  status: "active" as const,
  timezone: "UTC",
  active_from_ms: null,
  active_until_ms: null,
  weekly_windows: [],
  ...changes,
});

const keyOf = (changes: Partial<Parameters<typeof callerRefusal>[0]> = {}) => ({
  disabled: false,
  expires_at_ms: null,
  secret_until_ms: null,
  tenant: tenantOf(),
  ...changes,
});

describe("a caller", () => {
  it("is refused by the first of its gates, each end exclusive", () => {
    const key = keyOf({
      secret_until_ms: 10,
      disabled: true,
      expires_at_ms: 5,
      tenant: tenantOf({ status: "suspended" }),
    });
    expect(callerRefusal(key, 10)).toBe("invalid_api_key");
    expect(callerRefusal(key, 9)).toBe("api_key_disabled");
    const enabled = { ...key, disabled: false };
    expect([4, 5].map((nowMs) => callerRefusal(enabled, nowMs))).toEqual(["tenant_not_active", "api_key_expired"]);
    expect(callerRefusal(keyOf({ tenant: null, expires_at_ms: 5 }), 5)).toBe("api_key_expired");
    expect(callerRefusal(keyOf({ tenant: null }), 5)).toBe("tenant_not_found");
    expect(callerRefusal(keyOf(), Number.MAX_SAFE_INTEGER)).toBeNull();
  });

  it("is served exactly until the first end of key, secret and tenant", () => {
    const end = fc.option(fc.integer({ min: 1, max: 1000 }), { nil: null });
    fc.assert(
      fc.property(end, end, end, fc.integer({ min: 0, max: 1000 }), (expires, secret, term, nowMs) => {
        const tenant = tenantOf({ active_until_ms: term });
        const key = keyOf({ expires_at_ms: expires, secret_until_ms: secret, tenant });
        const untilMs = servedUntilMs({ key, tenant }, nowMs);
        expect(untilMs === null).toBe(expires === null && secret === null && term === null);
        expect(callerRefusal(key, nowMs) === null).toBe(untilMs === null || nowMs < untilMs);
      }),
    );
  });

  it("may use the models that both lists permit; a key without a list has its tenant's", () => {
    const may = (ofTenant: string[] | null, ofKey: string[] | null): readonly string[] =>
      ["a", "b", "c"].filter((name) =>
        mayUseModel({ key: { allowed_models: ofKey }, tenant: { allowed_models: ofTenant } }, name),
      );
    expect(may(null, null)).toEqual(["a", "b", "c"]);
    expect(may(["a", "b"], null)).toEqual(["a", "b"]);
    expect(may(null, ["b", "c"])).toEqual(["b", "c"]);
    expect(may(["a", "b"], ["b", "c"])).toEqual(["b"]);
    expect(may(["a"], ["b", "absent"])).toEqual([]);
  });
});
