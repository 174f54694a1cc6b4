/** The title of an issue says which of several it is, where its key has a name that people know. */
import { expect, it } from "vitest";
import { titleOf } from "./alert-kinds.ts";

it.each([
  ["queue_wait_long:west:org/phi:4", "T: org/phi:4"],
  ["upstream_5xx_response:phi", "T: phi"],
  ["mcp_tool_discovery_failed:files", "T: files"],
  ["model_health_down:a\nb", "T: a b"],
  ["term_budget_warn:7a1f4c1e-6d0b-4f57-9a53-2b8f0f1c9d3e", "T"],
  ["jwks_fetch_failed:0", "T"],
  ["scheduler_unavailable", "T"],
])("%j is titled %j", (key, title) => {
  expect(titleOf(key, "T")).toBe(title);
});
