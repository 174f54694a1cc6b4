/** What the audit log calls an action, and what a person types for it. */
import { expect, it } from "vitest";
import { actionNamed, actionText } from "./action-words.ts";

it.each([
  ["put_managed_model", "Saved deployment"],
  ["patch_replica", "Edited replica"],
  ["create_model_endpoint", "Created endpoint"],
  ["delete_group_grant", "Deleted role of a group"],
  ["set_auto_router_settings", "Set routing settings"],
  ["set_tenant_allowlist", "Set tenant allowed models"],
  ["set_boon_settings", "Set add-on settings"],
  ["update_mcp_server", "Updated MCP server"],
  ["update_tenant_group", "Updated tenant group"],
  ["read_capture", "Read capture"],
  ["restart_replica", "Restarted replica"],
  ["seal_secrets", "Sealed secrets"],
  ["end_sessions", "Ended sessions"],
  ["cancel_batch", "Cancelled batch"],
  ["apply_autotune_capacity", "Applied autotune capacity"],
  ["autotune_model", "Autotuned model"],
  ["resync", "Synced the cache"],
])('calls %s "%s", and finds it by these words and by its name', (action, words) => {
  expect(actionText(action)).toBe(words);
  expect(actionNamed(` ${words} `)).toBe(action);
  expect(actionNamed(action)).toBe(action);
});
