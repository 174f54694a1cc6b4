/**
 * What to do when a rule of Prometheus fires or an entry needs attention, for docs/reference/alerts.md. What they mean stands beside
 * them: in the rules (infra/grafana/alerts.yml), and in the texts of the console.
 */
import type { AttentionItem } from "../../shared/schema/attention.ts";

/** By name of the rule; a test compares the names with the rules. */
export const RULE_ACTIONS: Readonly<Record<string, string>> = {
  GatewayControlServiceDown:
    "Is it the service, or the way to it? `curl` the metrics listener from the machine of Prometheus and from its own. If the process is gone, its last log line says why: a wrong variable, or a database that is newer than the program, ends the start with one line. Requests go on from the hot copies, so there is time: do not restart the Worker. It is over when `up` is 1 and `gateway_outbox_pending` falls to 0: changes that waited are delivered in order.",
  GatewayCellDown:
    "Call `/health` of the Worker from outside. If it answers 200, the control service cannot reach it: compare `GATEWAY_EDGE_BASE_URL` or `GATEWAY_CELLS` with the address, and `GATEWAY_INTERNAL_TOKEN` of both planes (a wrong one shows as 404, and as `auth_failed` in the Worker's log). If it does not answer, bring the Worker back: `npm start` on one machine does that by itself; on Cloudflare check the status page and the last deployment. With several cells, send the clients of this region elsewhere meanwhile. It is over when `gateway_cell_up` is 1.",
  GatewayDatabaseDown:
    "`gateway doctor` where `GATEWAY_DATABASE_URL` is set tells refused connections, wrong passwords, missing connections and a replica apart. Bring PostgreSQL back; nothing has to be restarted after it. Until then nobody can change anything, and requests are served. If its data is lost: [back up and restore](docs/recover.md#back-up).",
  GatewayBackupOverdue: "As [backup_failed](#backup_failed).",
  GatewayVersionsDiffer:
    "`gateway_build_info` names the version of each cell, and without a cell that of the control service. Which part was forgotten? Upgrade it, the control service before the Worker ([order](docs/recover.md#order)). During a gradual rollout both versions serve: finish it or go back. If nothing is being upgraded, a part runs that nobody looks after: a replica of the control service, or a cell that is not in the pipeline.",
  GatewayConfigurationNotDelivered: "As [redis_sync_failed](#redis_sync_failed).",
  GatewayErrors:
    "Read `GET /api/v1/usage/logs?status=error` for the last minutes. With an `upstream_status` or a code `upstream_...` it is an upstream: [GatewayUpstreamsExhausted](#gatewayupstreamsexhausted). With `scheduler_unavailable`: [scheduler_unavailable](#scheduler_unavailable). With `key_store_unavailable`: [redis_key_lookup_failed](#redis_key_lookup_failed). Another 503 code names what is missing. If it is one tenant or one model only, tell its owner: the gateway is well. If it started with a deployment, roll that back first and look afterwards.",
  GatewayRefusing:
    "The codes in `GET /api/v1/usage/logs?status=error` say which limit. Many `invalid_api_key` are somebody with an old key or somebody who guesses: the Worker's log has a line for each. Used-up budgets and rates are the tenant's matter: `gateway tenants budget <name> --used`. Capacity: [GatewaySaturated](#gatewaysaturated).",
  GatewaySaturated:
    "The fairshare page or `GET /api/v1/fairshare/live` says who waits and for what. `model_cap`: raise `max_in_flight` of the model if its servers have room (autotune finds out), or add endpoints. `cell_full`: raise the slots (`PUT /api/v1/capacity`) when the upstreams together can take more. `headroom`: the free slots are kept for tenants that have less than those who wait; more slots help, and so does a smaller `GATEWAY_CELL_HEADROOM` (0 if there is one tenant only). `tenant_cap` and shares are as somebody wanted them. Requests that wait are not lost. It is over when `gateway_queue_depth` touches 0.",
  GatewaySlowFirstToken:
    "`GET /api/v1/usage/models` compares models. Is the time spent waiting (`queue_wait_ms` of rows) or upstream (`upstream_ms`)? Waiting: [GatewaySaturated](#gatewaysaturated). Upstream: check the queue of its servers; long prompts are slow by nature, and a model that only gets those is no fault. Then make the rule's bound fit your models.",
  GatewayBudgetsNotChecked: "As [redis_budget_reserve_failed_open](#redis_budget_reserve_failed_open).",
  GatewayUpstreamsExhausted:
    "`GET /api/v1/models/health` lists models and endpoints that are down with what their last check got. No connection: the server is gone or its address has changed. 401 or 403: its credential has ended. 429: it limits the gateway, so lower `max_in_flight` of the model. Switch a broken endpoint off (`PUT /api/v1/models/{id}/endpoints/{endpoint_id}`) so that requests do not try it first. It is over when the rate of `exhausted` falls; checks turn the model healthy by themselves.",
  GatewayUpstreamTimeouts:
    "Compare `request_timeout_secs` of the model with how long its answers take (`p95` of `GET /api/v1/usage/models`). Answers that are cut off at the limit: raise it. Answers that never start: the server hangs or queues; look there, and lower `max_in_flight` so that the gateway queues instead. Retries may still have answered.",
  GatewayMcpServerFailing: "As [mcp_upstream_5xx_response](#mcp_upstream_5xx_response), for the server in the label.",
  GatewayUsageLost: "As [usage_spill_refused](#usage_spill_refused).",
  GatewaySpillFillsUp:
    "Bring ClickHouse back now. The size and its growth on the panel _Waiting for the analytics store_ tell how long there is. `gateway doctor` says whether it refuses connections, its disk is full or its user may not write. Nothing is lost before 256 MiB or 1,024 segments. It is over when `gateway_spill_bytes` falls; rows arrive once each.",
  GatewayUsageNotShipped:
    "As [GatewaySpillFillsUp](#gatewayspillfillsup), with more time. When the store answers and rows still wait, the log event `ledger_shipping_failed` says why.",
  GatewayUsageRefused: "As [usage_rows_refused](#usage_rows_refused).",
  GatewayIdentityKeysNotRefreshed: "As [jwks_fetch_failed](#jwks_fetch_failed).",
  GatewayIdentityTokensRefused:
    "Which result grows on the panel _Identity tokens_? `unknown_kid`: the provider has new keys ([jwks_fetch_failed](#jwks_fetch_failed)). `invalid`: its issuer, audience or algorithm has changed, so compare `GATEWAY_JWT_ISSUERS` with a token; or somebody tries tokens of others. `expired` alone raises nothing.",
  GatewayTokensGuessed: "As [admin_auth_failures](#admin_auth_failures).",
  GatewaySpansDropped:
    "Check the collector of `GATEWAY_OTEL_ENDPOINT`. `failed`: it refuses or is away. `full`: it is slower than spans come, so trace fewer tenants. Requests do not wait for it, and rows are not affected.",
  GatewayProvisionerHeld: "As [slurm_reconcile_held](#slurm_reconcile_held).",
  GatewayReplicasNotStarted: "As [provision_failed](#provision_failed).",
  GatewayControlServiceSlow:
    "Which reads run? The usual ones are long periods without a filter in `GET /api/v1/usage/...`, and CSV of everything. Ask for less, or add a replica. If it started with a release, the log line `job_run` with the longest `duration_ms` is the first suspect.",
  GatewayCertificateEnds:
    "Are the files renewed already? `openssl x509 -enddate -noout -in` the file of `GATEWAY_TLS_CERT_FILE`. If they are, the log line `tls_not_reloaded` says why they are not served, most often a key that does not fit the certificate; nothing has to be restarted once both fit. If they are not, renew them, and find out why whoever renews them did not. The same for a front before the gateway, when `GATEWAY_TLS_ADDRESS` names it. It is over when `gateway_tls_expires_at` is later.",
  GatewayJobFailing:
    'The log line `job_run` with this job and `"outcome":"failed"` has the name of the error. Errors of one store: fix the store. What stands still meanwhile is what the job does ([background jobs](docs/watch.md#background-jobs)). It is tried again by itself.',
};

/** By kind of attention. */
export const ATTENTION_ACTIONS: Readonly<Record<AttentionItem["kind"], string>> = {
  cell_unreachable:
    "As [GatewayCellDown](#gatewaycelldown). A cell that is not configured any more leaves the list a day after it was seen last.",
  model_down: "As [model_health_down](#model_health_down).",
  endpoint_down:
    "As [model_health_down](#model_health_down), for one endpoint: the model's other endpoints serve. Fix the endpoint or switch it off; it counts again after a check finds it healthy.",
  provisioner_held: "As [slurm_reconcile_held](#slurm_reconcile_held).",
  provision_failed:
    "The entry has what the scheduler said. An invalid partition, account or resource: correct the specification (`gateway managed show <model>`). Too many lost replicas: read the logs of their jobs, fix the cause, then `gateway managed clear-lost <model>`. It is over when a job is accepted.",
  replicas_lost:
    "The last message and the job's log say why a replica ended: out of memory, a node that went down, a time limit. One loss is replaced by itself; the same loss again and again needs another specification. Lost replicas leave the list after `GATEWAY_PROVISIONER_LOST_RETENTION_SECS`.",
  budget_exhausted: "As [term_budget_exhausted](#term_budget_exhausted).",
  alert: "`gateway alerts` has the key of the alert, and the steps for each key are [above](#alerts-of-the-gateway).",
  backup_failed: "As [the alert](#backup_failed) of this name.",
  sync_pending: "As [redis_sync_failed](#redis_sync_failed).",
  usage_refused: "As [usage_rows_refused](#usage_rows_refused).",
  usage_waiting: "A quarter of the room is taken. As [GatewaySpillFillsUp](#gatewayspillfillsup).",
  tenant_expires: "As [tenant_expiry](#tenant_expiry).",
  key_expires:
    "Tell its owner, and give it a later end (`gateway keys expire <key> <time>`) or a successor (`gateway keys rotate <key> --grace 24h`: both work until the grace ends). A key that nobody uses may end.",
  user_pending:
    "Somebody signed in for the first time and waits for approval. The users page lists them, `gateway attention` says how many. Approve whom you know; deny the others.",
  budget_low: "As [term_budget_warn](#term_budget_warn).",
  setting_without_effect:
    "The detail says what is missing, such as the model of an assistant that is on. Complete the setting or switch it off.",
};
