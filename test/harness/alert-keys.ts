/**
 * Every issue that the gateway raises so far (docs/rules/alerts.md#issues-and-texts), and the test that causes its real
 * condition and waits for the alert. alert-keys.test.ts fails for a key that is only in this table or only in the sources.
 */

import type { AlertKey } from "../../shared/catalogues/alerts.ts";

/** The test that causes most of them, on a stack of its own. */
export const ALERTS_SPEC = "test/spec/alert-keys.test.ts";

/** Issue keys, without the part after the colon and without the tenant's id, and the test of each. */
export const ALERT_KEYS = {
  upstream_request_failed: ALERTS_SPEC,
  upstream_5xx_response: ALERTS_SPEC,
  upstream_stream_error: ALERTS_SPEC,
  key_term_budget_warn: ALERTS_SPEC,
  key_term_budget_exhausted: ALERTS_SPEC,
  term_budget_warn: ALERTS_SPEC,
  term_budget_exhausted: ALERTS_SPEC,
  tenant_expiry: ALERTS_SPEC,
  queue_wait_long: "test/faults/alerts.test.ts",
  model_health_down: ALERTS_SPEC,
  model_health_recovery: ALERTS_SPEC,
  energy_power_poll_failed: ALERTS_SPEC,
  mcp_upstream_request_failed: ALERTS_SPEC,
  mcp_upstream_5xx_response: ALERTS_SPEC,
  mcp_tool_discovery_failed: "edge/pipeline/boons/tool-loop/tool-loop.test.ts",
  redis_key_lookup_failed: ALERTS_SPEC,
  redis_model_lookup_failed: ALERTS_SPEC,
  redis_mcp_lookup_failed: ALERTS_SPEC,
  redis_cache_lookup_failed: ALERTS_SPEC,
  redis_cache_store_failed: ALERTS_SPEC,
  redis_budget_reconcile_failed: ALERTS_SPEC,
  redis_term_usage_failed: ALERTS_SPEC,
  redis_key_term_usage_failed: ALERTS_SPEC,
  test_alert: ALERTS_SPEC,
  slurm_reconcile_held: "control/provisioner/jobsched/provisioner-watch.test.ts",
  slurm_reconcile_recovered: "control/provisioner/jobsched/provisioner-watch.test.ts",
  redis_budget_reserve_failed_open: "test/faults/objects-away.test.ts",
  redis_budget_reserve_failed_closed: "test/faults/objects-away.test.ts",
  redis_key_budget_reserve_failed_open: "test/faults/objects-away.test.ts",
  redis_key_budget_reserve_failed_closed: "test/faults/objects-away.test.ts",
  budget_amount_refused: "edge/objects/cell/budget-numbers.property.test.ts",
  scheduler_unavailable: "test/faults/objects-away.test.ts",
  backup_failed: "control/backup/backup-schedule.test.ts",
  key_store_emptied: "test/faults/emptied-store.test.ts",
  redis_sync_failed: "control/alerts/outbox-watch.test.ts",
  stored_objects_forgotten: "edge/adapters/redis-upstream-objects.node.test.ts",
  jwks_fetch_failed: "test/faults/identity.test.ts",
  identity_tenant_created: "test/faults/identity.test.ts",
  admin_auth_failures: "test/spec/admin-plane.test.ts",
  usage_spill_refused: "test/faults/custody-table.test.ts",
  usage_rows_refused: "test/faults/custody-table.test.ts",
  analytics_schema_changed: "test/faults/store-drift.test.ts",
  disk_low: "test/faults/full-disk.test.ts",
  guardrails_input: "test/spec/guardrails.test.ts",
  guardrails_output: "test/spec/guardrails.test.ts",
  guardrails_input_harm: "test/spec/guardrails.test.ts",
  guardrails_output_harm: "test/spec/guardrails.test.ts",
} as const satisfies Readonly<Record<AlertKey, string>>;
