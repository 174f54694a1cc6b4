/** Whether a key is admitted, as the data plane decides it. */
import { expect, it } from "vitest";
import { keyState } from "./key-state.ts";

const END = "2026-11-23T00:00:00.000Z";
const END_MS = Date.parse(END);

it.each([
  [{ disabled: false, expires_at: null }, END_MS, "active"],
  [{ disabled: false, expires_at: END }, END_MS - 1, "ending"],
  [{ disabled: false, expires_at: END }, END_MS, "expired"],
  [{ disabled: true, expires_at: END }, END_MS, "disabled"],
  [{ disabled: false, expires_at: "never" }, END_MS, "active"],
  [{ disabled: false, expires_at: null, tenant_status: "active" }, END_MS, "active"],
  [{ disabled: false, expires_at: null, tenant_status: "suspended" }, END_MS, "suspended"],
  [{ disabled: true, expires_at: null, tenant_status: "archived" }, END_MS, "suspended"],
])("%j at %d is %s", (key, nowMs, state) => {
  expect(keyState(key, nowMs)).toBe(state);
});
