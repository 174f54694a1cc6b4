/**
 * The actions for Prometheus rules that fire and entries that need attention, for docs/reference/alerts.md. Their meaning is
 * beside them: in the rules (infra/grafana/alerts.yml), and in the texts of the console.
 */
import type { AttentionItem } from "../../shared/schema/attention.ts";

/** By name of the rule; a test compares the names with the rules. */
export const RULE_ACTIONS: Readonly<Record<string, string>> = {
  GatewayControlServiceDown:
    "Is it the service or the network? `curl` the metrics listener from the Prometheus machine and from the service's own. If the process is gone, its last log line says why: a wrong variable, or a database newer than the program, stops the start with one line. Requests are still served from the hot copies, so there is time: do not restart the Worker. Resolved when `up` is 1 and `gateway_outbox_pending` is back at 0: waiting changes are delivered in order.",
  GatewayCellDown:
    "Call `/health` of the Worker from outside. If it answers 200, the control service cannot reach it: compare `GATEWAY_EDGE_BASE_URL` or `GATEWAY_CELLS` with the Worker's address, and `GATEWAY_INTERNAL_TOKEN` on both sides (a wrong one shows as 404, and as `auth_failed` in the Worker's log). If it does not answer, bring the Worker back: on one machine, `npm start` restarts it automatically; on Cloudflare, check the status page and the last deployment. With several cells, send this region's clients elsewhere meanwhile. Resolved when `gateway_cell_up` is 1.",
  GatewayDatabaseDown:
    "Run `gateway doctor` where `GATEWAY_DATABASE_URL` is set. It says whether connections are refused, the password is wrong, no connection is free, or the database is a read-only replica. Bring PostgreSQL back; nothing has to be restarted. Until then nothing can be changed, but requests are served. If the data is lost: [back up and restore](docs/recover.md#back-up).",
  GatewayBackupOverdue: "Same as [backup_failed](#backup_failed).",
  GatewayVersionsDiffer:
    "`gateway_build_info` has the version of each cell; the sample without a cell is the control service. Which part was forgotten? Upgrade it, the control service before the Worker ([order](docs/recover.md#order)). During a gradual rollout both versions serve: finish it or roll back. If nobody is upgrading, a forgotten part is running: a replica of the control service, or a cell that your deployments leave out.",
  GatewayConfigurationNotDelivered: "Same as [redis_sync_failed](#redis_sync_failed).",
  GatewayErrors:
    "Read `GET /api/v1/usage/logs?status=error` for the last minutes. With an `upstream_status` or a code `upstream_...`, an upstream fails: [GatewayUpstreamsExhausted](#gatewayupstreamsexhausted). With `scheduler_unavailable`: [scheduler_unavailable](#scheduler_unavailable). With `key_store_unavailable`: [redis_key_lookup_failed](#redis_key_lookup_failed). Other 503 codes name the part that is unavailable. If only one tenant or model is affected, tell its owner: the gateway is healthy. If it started with a deployment, roll that back first and investigate afterwards.",
  GatewayRefusing:
    "The codes in `GET /api/v1/usage/logs?status=error` say which limit. Many `invalid_api_key`: somebody uses an old key or guesses keys; the Worker's log has a line for each. Used-up budgets and rate limits are for the tenant to decide: `gateway tenants budget <name> --used`. Capacity: [GatewaySaturated](#gatewaysaturated).",
  GatewaySaturated:
    "The Fairshare page or `GET /api/v1/fairshare/live` shows who waits, and for what. `model_cap`: raise `max_in_flight` of the model if its servers can take more (auto-tune measures it), or add endpoints. `cell_full`: raise the slots (`PUT /api/v1/capacity`) if the upstreams together can take more. `headroom`: the free slots are kept for tenants below their share; add slots or lower `GATEWAY_CELL_HEADROOM` (0 with a single tenant). `tenant_cap` and shares work as configured. Waiting requests are not lost. Resolved when `gateway_queue_depth` reaches 0.",
  GatewaySlowFirstToken:
    "`GET /api/v1/usage/models` compares models. Is the time spent in the queue (`queue_wait_ms` of rows) or upstream (`upstream_ms`)? Queue: [GatewaySaturated](#gatewaysaturated). Upstream: check the queue of its servers. Long prompts are slow by nature; if a model only gets those, nothing is wrong: adjust the rule's threshold to your models.",
  GatewayBudgetsNotChecked: "Same as [redis_budget_reserve_failed_open](#redis_budget_reserve_failed_open).",
  GatewayUpstreamsExhausted:
    "`GET /api/v1/models/health` lists the models and endpoints that are down, with the result of their last check. No connection: the server is gone or its address has changed. 401 or 403: its credential has expired. 429: it rate-limits the gateway, so lower `max_in_flight` of the model. Disable a broken endpoint (`PUT /api/v1/models/{id}/endpoints/{endpoint_id}`) so that requests do not try it first. Resolved when the rate of `exhausted` falls; health checks mark the model healthy automatically.",
  GatewayUpstreamTimeouts:
    "Compare `request_timeout_secs` of the model with the duration of its responses (`p95` of `GET /api/v1/usage/models`). If responses are cut off at the timeout, raise it, or clear it and set `idle_timeout_secs`: a stream that keeps sending is not cut then. If responses never start, the server hangs or queues: look there, and lower `max_in_flight` so that the gateway queues instead. Retries may still have succeeded.",
  GatewayMcpServerFailing:
    "Same as [mcp_upstream_5xx_response](#mcp_upstream_5xx_response), for the server in the label.",
  GatewayUsageLost: "Same as [usage_spill_refused](#usage_spill_refused).",
  GatewaySpillFillsUp:
    "Bring ClickHouse back now. The panel _Waiting for the analytics store_ shows the size and its growth, and so how much time is left. `gateway doctor` says whether ClickHouse refuses connections, its disk is full or its user has no write permission. Nothing is lost before 256 MiB or 1,024 segments. Resolved when `gateway_spill_bytes` falls; each row arrives exactly once.",
  GatewayUsageNotShipped:
    "Same as [GatewaySpillFillsUp](#gatewayspillfillsup), with more time. If the store answers and rows still wait, the log event `ledger_shipping_failed` says why.",
  GatewayUsageRefused: "Same as [usage_rows_refused](#usage_rows_refused).",
  GatewayIdentityKeysNotRefreshed: "Same as [jwks_fetch_failed](#jwks_fetch_failed).",
  GatewayIdentityTokensRefused:
    "Which result grows on the panel _Identity tokens_? `unknown_kid`: the provider has new keys ([jwks_fetch_failed](#jwks_fetch_failed)). `invalid`: the issuer, audience or algorithm has changed (compare `GATEWAY_JWT_ISSUERS` with a token), or somebody tries foreign tokens. `expired` alone does not raise this alert.",
  GatewayTokensGuessed: "Same as [admin_auth_failures](#admin_auth_failures).",
  GatewaySpansDropped:
    "Check the collector at `GATEWAY_OTEL_ENDPOINT` or `OTEL_EXPORTER_OTLP_ENDPOINT`. `failed`: it rejects spans or does not answer; `trace_export_failed` in the log says why. `full`: spans arrive faster than it accepts them, so give it more capacity. Requests do not wait for it, and usage rows are not affected.",
  GatewayProvisionerHeld: "Same as [slurm_reconcile_held](#slurm_reconcile_held).",
  GatewayReplicasNotStarted: "Same as [provision_failed](#provision_failed).",
  GatewayControlServiceSlow:
    "Which reads are running? Usually they are long periods without a filter in `GET /api/v1/usage/...`, or CSV exports of everything. Narrow them, or add a replica. If it started with a release, the log line `job_run` with the longest `duration_ms` is the first suspect.",
  GatewayDiskLow: "Same as [disk_low](#disk_low).",
  GatewayCertificateEnds:
    "Have the files been renewed? Run `openssl x509 -enddate -noout -in` on the file in `GATEWAY_TLS_CERT_FILE`. If they have, the log line `tls_not_reloaded` says why they are not served, usually a key that does not match the certificate; once they match, no restart is needed. If not, renew them, and find out why the renewal failed. The same goes for a proxy in front of the gateway, if `GATEWAY_TLS_ADDRESS` names it. Resolved when `gateway_tls_expires_at` is later.",
  GatewayJobFailing:
    'The log line `job_run` with this job and `"outcome":"failed"` has the reason. While a store fails, only the line of the store has it (`database_failed`, `analytics_failed`, `key_store_failed`): fix the store. Until then, the work of the job is not done ([background jobs](docs/watch.md#background-jobs) says what it is). The job is retried automatically.',
};

/** By kind of attention. */
export const ATTENTION_ACTIONS: Readonly<Record<AttentionItem["kind"], string>> = {
  cell_unreachable:
    "Same as [GatewayCellDown](#gatewaycelldown). A cell that is no longer configured leaves the list a day after it was last seen.",
  model_down: "Same as [model_health_down](#model_health_down).",
  no_replica:
    "The Deployments page shows the state of each replica: pending ones wait for the scheduler, starting ones load the model, lost ones say why. None is listed: turn on the job scheduler in Settings. Resolved when one is healthy.",
  endpoint_down:
    "Same as [model_health_down](#model_health_down), for one endpoint: the model's other endpoints keep serving. Fix or disable the endpoint; it counts as up again once a check finds it healthy.",
  provisioner_held: "Same as [slurm_reconcile_held](#slurm_reconcile_held).",
  provision_failed:
    "The entry has the scheduler's message. An invalid partition, account or resource: correct the spec (`gateway managed show <model>`). Too many lost replicas: read the logs of their jobs, fix the cause, then run `gateway managed clear-lost <model>`. Resolved when a job is accepted.",
  replicas_lost:
    "The last message and the job's log say why a replica ended: out of memory, a node failure, a time limit. A single loss is replaced automatically; if it keeps happening, change the spec. Lost replicas leave the list after `GATEWAY_PROVISIONER_LOST_RETENTION_SECS`.",
  budget_exhausted: "Same as [term_budget_exhausted](#term_budget_exhausted).",
  alert: "`gateway alerts` has the key of the alert, and the steps for each key are [above](#alerts-of-the-gateway).",
  backup_failed: "Same as [the alert](#backup_failed) of this name.",
  sync_pending: "Same as [redis_sync_failed](#redis_sync_failed).",
  usage_refused: "Same as [usage_rows_refused](#usage_rows_refused).",
  usage_waiting: "A quarter of the buffer is used. Same as [GatewaySpillFillsUp](#gatewayspillfillsup).",
  tenant_expires: "Same as [tenant_expiry](#tenant_expiry).",
  key_expires:
    "Tell its owner, and set a later expiry (`gateway keys expire <key> <time>`) or rotate the key (`gateway keys rotate <key> --grace 24h`: old and new secret both work for 24 hours). Let a key that nobody uses expire.",
  user_pending:
    "Somebody signed in for the first time and waits for approval. The Users page lists them, and `gateway attention` says how many. Approve the people you know; deny the others.",
  budget_low: "Same as [term_budget_warn](#term_budget_warn).",
  setting_without_effect:
    "The detail says what is missing, such as the model of an enabled assistant. Complete the setting or turn it off.",
};
