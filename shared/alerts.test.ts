import { describe, expect, it } from "vitest";
import { type Issue, issueOf, issues } from "./alerts.ts";

const line = ({ issueKey, title, detail }: Issue): string => `${issueKey} | ${title} | ${detail}`;

describe("an alert of the data plane", () => {
  it("has the text of docs/rules/alerts.md#issues-and-texts", () => {
    const raised = [
      issues.schedulerUnavailable("eu", "reset"),
      issues.lookupFailed("key", "no answer"),
      issues.lookupFailed("mcp", "no answer"),
      issues.responseCacheFailed("store", "no answer"),
      issues.budgetCheckFailed("tenant", true, "no answer"),
      issues.budgetCheckFailed("key", false, "no answer"),
      issues.budgetSettlementFailed("bucket", "no answer"),
      issues.budgetSettlementFailed("tenant", "no answer"),
      issues.budgetSettlementFailed("key", "no answer"),
      issues.upstreamRequestFailed("m", "refused", 3, 2),
      issues.upstream5xxResponse("m", 503),
      issues.upstreamStreamError("m", "reset", 12),
      issues.mcpServerFailed("mcp_upstream_5xx_response", "files", "upstream answered 500"),
      issues.usageSpillRefused(7),
    ].map(line);
    expect(raised).toEqual([
      "scheduler_unavailable | Scheduler unavailable | cell eu: reset; requests are rejected",
      "redis_key_lookup_failed | Key-value store lookup failed | api key: no answer; served from memory where possible, else rejected",
      "redis_mcp_lookup_failed | Key-value store lookup failed | mcp server: no answer; served from memory where possible, else rejected",
      "redis_cache_store_failed | Response cache failed | no answer; request admitted (fail-open)",
      "redis_budget_reserve_failed_open | Budget check failed | no answer; request admitted (fail-open)",
      "redis_key_budget_reserve_failed_closed | Budget check failed | no answer; request rejected (fail-closed)",
      "redis_budget_reconcile_failed | Budget settlement failed | no answer; request was already served",
      "redis_term_usage_failed | Budget settlement failed | no answer; request was already served",
      "redis_key_term_usage_failed | Budget settlement failed | no answer; request was already served",
      "upstream_request_failed:m | Upstream request failed | m: refused after 3 attempts on 2 endpoints",
      "upstream_5xx_response:m | Upstream error response | m: upstream answered 503",
      "upstream_stream_error:m | Upstream stream interrupted | m: reset after 12 bytes",
      "mcp_upstream_5xx_response:files | MCP server failed | files: upstream answered 500",
      "usage_spill_refused | Usage records are being lost | spill log full; 7 records dropped",
    ]);
  });

  it("is one line of at most 500 characters, whatever a name contains", () => {
    const { detail } = issueOf("test_alert", `a\r\nb\u2028c\u0000${"x".repeat(600)}`);
    expect(detail.startsWith("a b c x")).toBe(true);
    expect({ length: detail.length, isCut: detail.endsWith("...") }).toEqual({ length: 500, isCut: true });
    expect(issueOf("test_alert", "y".repeat(500)).detail).toBe("y".repeat(500));
  });
});
