import { expect, it } from "vitest";
import { changedObjects, type Differences, kindsOf, readBackupText, restoredCounts } from "./backup-file.ts";

const none = { added: 0, changed: 0, unchanged: 0, only_here: 0, objects: [] };
const differences: Differences = {
  fairshare_groups: none,
  tenants: {
    added: 1,
    changed: 3,
    unchanged: 0,
    only_here: 2,
    objects: [
      { name: "one", change: "added", fields: {} },
      { name: "one", change: "changed", fields: { weight: [1, 2] } },
    ],
  },
  api_keys: none,
  models: { ...none, changed: 1, objects: [{ name: "one", change: "changed", fields: { api_key: "changed" } }] },
  model_endpoints: none,
  mcp_servers: none,
  app_settings: none,
};

it.each(["", "[]", "null", "7", '"text"', "{", "\u0000"])("takes %j for no backup", (fileText) => {
  expect(readBackupText(fileText)).toBeNull();
});

it("leaves an object of JSON to the server", () => {
  expect(readBackupText('{"format":"another","__proto__":{"data":1}}')).toMatchObject({ format: "another" });
});

it("lists what would change, each object under a key of its own, and counts what is not listed", () => {
  expect(kindsOf(differences).map(({ kind, added, changed }) => [kind, added + changed])).toEqual([
    ["fairshare_groups", 0],
    ["tenants", 4],
    ["api_keys", 0],
    ["models", 1],
    ["model_endpoints", 0],
    ["mcp_servers", 0],
    ["app_settings", 0],
  ]);
  const { objects, unlisted } = changedObjects(differences);
  expect(objects.map(({ kind, name, change }) => [kind, name, change])).toEqual([
    ["tenants", "one", "added"],
    ["tenants", "one", "changed"],
    ["models", "one", "changed"],
  ]);
  expect(new Set(objects.map(({ key }) => key)).size).toBe(3);
  expect(unlisted).toBe(2);
});

it("adds up what a restore has done", () => {
  const nothing = { inserted: 0, updated: 0 };
  const report = {
    fairshare_groups: { inserted: 1, updated: 2 },
    tenants: { inserted: 3, updated: 4 },
    api_keys: nothing,
    models: nothing,
    model_endpoints: nothing,
    mcp_servers: nothing,
    app_settings: { inserted: 0, updated: 5 },
    warnings: [],
    source_exported_at: "2026-11-21T08:00:00.000Z",
    source_gateway_version: "7.7.7",
  };
  expect(restoredCounts(report)).toEqual({ added: 4, updated: 11 });
});
