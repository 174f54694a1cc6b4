import { describe, expect, it } from "vitest";
import { findingsOf } from "./finding.ts";
import { rotationFindings } from "./rotation-findings.ts";

describe("old secrets", () => {
  const token = { old_accepted: false, old_used_at: null };
  const none = {
    encryption_key: { old_keys: 0, records_left: 0 },
    api_key_pepper: { old_peppers: 0, keys_left: 7, keys_invalid: 0, first_left: [] },
    internal_token: token,
    admin_token: token,
  };
  const told = (rotation: typeof none | object) =>
    rotationFindings({ ...none, ...rotation }, findingsOf("control service")).map(({ state, detail }) => [
      state,
      detail,
    ]);

  it("are not mentioned when none is accepted", () => {
    expect(told({})).toEqual([]);
  });

  it("that are still needed but not accepted are named", () => {
    expect(told({ api_key_pepper: { ...none.api_key_pepper, keys_invalid: 3 } })).toEqual([
      ["warning", "3 keys are invalid: their hashes use a pepper that is not accepted"],
    ]);
  });

  it("can be removed when nothing needs them any more", () => {
    const accepted = { ...token, old_accepted: true };
    const rotation = {
      encryption_key: { old_keys: 1, records_left: 0 },
      api_key_pepper: { old_peppers: 1, keys_left: 2, keys_invalid: 0, first_left: [] },
      internal_token: accepted,
      admin_token: { ...accepted, old_used_at: "2026-11-29T08:00:00.000Z" },
    };
    expect(told(rotation)).toEqual([
      ["warning", "nothing needs GATEWAY_ENCRYPTION_KEYS_OLD any more"],
      ["ok", "2 keys were not used since GATEWAY_API_KEY_PEPPER was replaced"],
      ["warning", "GATEWAY_INTERNAL_TOKEN_OLD was not used since the control service started"],
      ["ok", "GATEWAY_ADMIN_TOKEN_OLD was used since the control service started"],
    ]);
    expect(told({ encryption_key: { old_keys: 1, records_left: 3 } })).toEqual([
      ["ok", "3 records still need GATEWAY_ENCRYPTION_KEYS_OLD"],
    ]);
  });
});
