import { expect, it } from "vitest";
import { configWarnings } from "./config-warnings.ts";

const strong = {
  adminToken: "a".repeat(32),
  internalToken: undefined,
  encryptionKey: "k",
  sharedSecrets: null,
  newSharedSecrets: false,
};
const events = (env: Parameters<typeof configWarnings>[0]) => configWarnings(env).map(({ event }) => event);

it("warns of a short admin token, an equal internal token and secrets in plaintext", () => {
  expect(events(strong)).toEqual([]);
  expect(events({ ...strong, adminToken: "a".repeat(31) })).toEqual(["admin_token_short"]);
  expect(events({ ...strong, internalToken: strong.adminToken })).toEqual(["internal_token_is_admin_token"]);
  expect(events({ ...strong, internalToken: "another" })).toEqual([]);
  expect(events({ ...strong, encryptionKey: undefined })).toEqual(["secrets_in_plaintext"]);
});

it("warns in a cluster when its secrets replace those that all share", () => {
  expect(events({ ...strong, newSharedSecrets: true })).toEqual([]);
  expect(events({ ...strong, sharedSecrets: {} })).toEqual([]);
  expect(events({ ...strong, sharedSecrets: {}, newSharedSecrets: true })).toEqual(["shared_secrets_replaced"]);
});

it("names no value", () => {
  const env = { ...strong, adminToken: "planted", internalToken: "planted", encryptionKey: undefined };
  expect(JSON.stringify(configWarnings(env))).not.toContain("planted");
});
