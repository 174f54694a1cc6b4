/** What the audit log calls an action, and what a person types for it. */
import { expect, it } from "vitest";
import { actionNamed, actionText } from "./action-words.ts";

it.each([
  ["put_managed_model", "Save deployment"],
  ["create_model_endpoint", "Create endpoint"],
  ["delete_group_grant", "Delete role of a group"],
  ["set_auto_router_settings", "Set routing settings"],
  ["set_tenant_allowlist", "Set tenant allowed models"],
  ["set_boon_settings", "Set add-on settings"],
  ["update_mcp_server", "Update MCP server"],
  ["update_tenant_group", "Update tenant group"],
  ["update_tenant", "Update tenant"],
  ["resync", "Sync all cells"],
])('calls %s "%s", and finds it by these words and by its name', (action, words) => {
  expect(actionText(action)).toBe(words);
  expect(actionNamed(` ${words} `)).toBe(action);
  expect(actionNamed(action)).toBe(action);
});
