/**
 * What each alert of the gateway means and what to do, for docs/reference/alerts.md: the steps that a message, the console and
 * `gateway doctor` lead to. Texts are Markdown; a link to `docs/` is written from the root of the repository.
 */
import type { AlertKey } from "./alerts.ts";

/** The subjects of alerts, in the order of the page. */
type AlertSubject =
  | "The data plane and its parts"
  | "Budgets"
  | "Upstreams"
  | "Usage rows"
  | "Tenants, identities, energy"
  | "Managed models";

interface AlertText {
  readonly subject: AlertSubject;
  /** What the key ends with: there is an issue for each. */
  readonly of?: string;
  readonly means: string;
  readonly action: string;
}

const NOTHING = "Nothing.";

export const ALERT_TEXTS: Readonly<Record<AlertKey, AlertText>> = {
  scheduler_unavailable: {
    subject: "The data plane and its parts",
    means:
      "The Cell did not answer. Requests without a slot get 503. Recovery is automatic and raises no further alert.",
    action:
      "On one machine: the log shows which part died or hung; the launcher restarts it within 26 s. In a cluster: the Cell's machine is gone, and another one takes over ([cluster.md](docs/cluster.md)). On Cloudflare: check the status of Durable Objects. _overloaded_ in the detail means that the Cell is at its maximum rate: add a cell; _its disk is full_: see [disk_low](#disk_low).",
  },
  redis_key_lookup_failed: {
    subject: "The data plane and its parts",
    means:
      "A key could not be read from the key-value store. Copies in an isolate's memory are used for up to an hour; other keys get `503 key store unavailable`.",
    action:
      "Run `gateway doctor` where `GATEWAY_REDIS_URL` is set: it says whether the store is unreachable, rejects the password or is full. _unreadable record_ in the detail: another program wrote this entry, and `POST /api/v1/resync` restores it. If the store has lost its data, do nothing: it is filled again at once ([key_store_emptied](#key_store_emptied)).",
  },
  key_store_emptied: {
    subject: "The data plane and its parts",
    means:
      "The key-value store has lost its copies: it was flushed, or started without its data. Until they are written again, which takes seconds, requests whose records no isolate has in memory get `503 key store unavailable` with `retry-after: 1`; none gets 401 or 404 for it.",
    action:
      "Nothing, if it comes once: the control service writes all copies again automatically. If it comes again, find out why the store loses its data: it starts without persistence, evicts keys, or another program flushes it. `gateway doctor` says whether the store is filled. Stored answers, MCP sessions and originals of the compression are gone; they come back with use.",
  },
  redis_model_lookup_failed: {
    subject: "The data plane and its parts",
    means:
      "A model could not be read from the key-value store. Copies in an isolate's memory are used for up to an hour.",
    action: "Same as [redis_key_lookup_failed](#redis_key_lookup_failed).",
  },
  redis_mcp_lookup_failed: {
    subject: "The data plane and its parts",
    means:
      "An MCP server could not be read from the key-value store. Copies in an isolate's memory are used for up to an hour.",
    action: "Same as [redis_key_lookup_failed](#redis_key_lookup_failed).",
  },
  redis_cache_lookup_failed: {
    subject: "The data plane and its parts",
    means: "The response cache could not be read. Requests go upstream instead, and none fails.",
    action:
      "Same as [redis_key_lookup_failed](#redis_key_lookup_failed). If no other alert comes with it, check the store's limits on the size and number of requests.",
  },
  redis_cache_store_failed: {
    subject: "The data plane and its parts",
    means: "A response could not be stored in the response cache. No request fails.",
    action: "Same as [redis_cache_lookup_failed](#redis_cache_lookup_failed). Usually the store is out of memory.",
  },
  stored_objects_forgotten: {
    subject: "The data plane and its parts",
    of: "id of the tenant",
    means:
      "Upstreams have given the tenant more ids of stored answers, items and containers in 30 days than `GATEWAY_STORED_OBJECTS_PER_TENANT`. The oldest are forgotten: a request of the tenant that names one gets 404 `object_not_found`.",
    action:
      "Ask the tenant to send `store: false` where it continues no answer. Otherwise raise `GATEWAY_STORED_OBJECTS_PER_TENANT`, if the key-value store has room: about 0.5 KB for each id.",
  },
  redis_sync_failed: {
    subject: "The data plane and its parts",
    means:
      "A configuration change has not reached the key-value store or a cell for more than a minute. A cell that was not reached uses the old configuration: a disabled key may still work there for up to five minutes.",
    action:
      "Find the part that does not answer: the store ([redis_key_lookup_failed](#redis_key_lookup_failed)) or a cell ([GatewayCellDown](#gatewaycelldown)). Bring it back. The changes are then delivered in order within seconds; do not repeat them.",
  },
  backup_failed: {
    subject: "The data plane and its parts",
    means:
      "A [scheduled backup](docs/recover.md#scheduled-backups) could not be stored or read back. Older backups are still there. The backup is retried, the first time within five minutes.",
    action:
      "The detail has the place and the reason: permissions, a full disk, an unreachable bucket, an expired credential. Fix that; the next run makes up for the missed backup. If the configuration cannot be exported, check the database. Meanwhile, `gateway backup export` on another machine is a backup too. Afterwards `gateway drill` shows whether the newest backup can be restored. _Cannot be read back_: the credentials can write but not read, or the bucket is too slow. _Stays there unverified_: they cannot delete either. Allow both; retries are rare by then, but the next one comes within one interval. Remove by hand the files that the log event `backup_not_removed` names: they were never verified, and a drill would use the newest of them.",
  },
  admin_auth_failures: {
    subject: "The data plane and its parts",
    means: "20 or more calls came with a wrong admin or internal token within a minute.",
    action:
      "The log event `auth_failed` has the addresses. If one is yours, a service has an old token. Otherwise limit who can reach the admin listener and `/internal`, and change the token if somebody may know it ([tokens](docs/run.md#tokens)). Tokens are long and random: guessing alone does not succeed.",
  },
  term_budget_warn: {
    subject: "Budgets",
    of: "id of the tenant",
    means: "A tenant has used 80% of its budget. Raised once per period.",
    action:
      "`gateway tenants budget <name> --used` shows how much is left and when the budget resets. Tell the tenant, or raise the cap (`PATCH /api/v1/tenants/{id}/budget`).",
  },
  key_term_budget_warn: {
    subject: "Budgets",
    of: "id of the API key",
    means: "A key has used 80% of its budget. Raised once per period.",
    action:
      "Same as [term_budget_warn](#term_budget_warn), for one key. `GET /api/v1/usage/keys/summary` shows what each key has spent; `PUT /api/v1/keys/{id}` raises its cap.",
  },
  term_budget_exhausted: {
    subject: "Budgets",
    of: "id of the tenant",
    means: "A tenant's budget is used up. Its requests get 403 until the next period starts or the cap is raised.",
    action:
      "Was this usage intended? `GET /api/v1/usage/breakdown` by key and model shows where the budget went. Raise the cap, or leave it.",
  },
  key_term_budget_exhausted: {
    subject: "Budgets",
    of: "id of the API key",
    means: "A key's budget is used up. Its requests get 403 until the next period starts or the cap is raised.",
    action: "Same as [term_budget_exhausted](#term_budget_exhausted), for one key.",
  },
  redis_budget_reserve_failed_open: {
    subject: "Budgets",
    means:
      "The budget object of a tenant did not answer. `GATEWAY_FAIL_OPEN` is on, so the request was served unchecked; its usage is charged later. Tenants can exceed their caps while this lasts. (The name is historical: budgets are not in the key-value store.)",
    action:
      "Check Durable Objects as for [scheduler_unavailable](#scheduler_unavailable). If caps must never be exceeded, set `GATEWAY_FAIL_OPEN=0`: then such requests get 503.",
  },
  redis_key_budget_reserve_failed_open: {
    subject: "Budgets",
    means:
      "The budget object did not answer for the budget of a key. `GATEWAY_FAIL_OPEN` is on, so the request was served unchecked; its usage is charged later.",
    action: "Same as [redis_budget_reserve_failed_open](#redis_budget_reserve_failed_open).",
  },
  redis_budget_reserve_failed_closed: {
    subject: "Budgets",
    means: "The budget object of a tenant did not answer. `GATEWAY_FAIL_OPEN` is off, so the request got 503.",
    action:
      "Check Durable Objects as for [scheduler_unavailable](#scheduler_unavailable). To serve requests meanwhile, turn on `GATEWAY_FAIL_OPEN`.",
  },
  redis_key_budget_reserve_failed_closed: {
    subject: "Budgets",
    means:
      "The budget object did not answer for the budget of a key. `GATEWAY_FAIL_OPEN` is off, so the request got 503.",
    action: "Same as [redis_budget_reserve_failed_closed](#redis_budget_reserve_failed_closed).",
  },
  redis_budget_reconcile_failed: {
    subject: "Budgets",
    means:
      "For 30 s, the usage of requests could not be charged to the limits per minute. The report is retried until it is stored.",
    action:
      "Nothing, if it ends within minutes. Otherwise see [scheduler_unavailable](#scheduler_unavailable). If a Cell dies in this state, its budget leases count as spent until they are checked against the ledger.",
  },
  redis_term_usage_failed: {
    subject: "Budgets",
    means:
      "For 30 s, the usage of requests could not be charged to a tenant's budget. The report is retried until it is stored.",
    action: "Same as [redis_budget_reconcile_failed](#redis_budget_reconcile_failed).",
  },
  redis_key_term_usage_failed: {
    subject: "Budgets",
    means:
      "For 30 s, the usage of requests could not be charged to a key's budget. The report is retried until it is stored.",
    action: "Same as [redis_budget_reconcile_failed](#redis_budget_reconcile_failed).",
  },
  budget_amount_refused: {
    subject: "Budgets",
    means:
      "Either an upstream reported impossible usage: the detail names the model, the request was served, and its estimate was charged. Or the gateway, because of a bug, was about to charge a budget with something other than a whole number from 0 to 2^53 - 1: the request got `503 budget check failed`, even with `GATEWAY_FAIL_OPEN` on, and was charged nothing.",
    action:
      "If the detail says that usage is not believed, correct the model's upstream or disable the endpoint. Otherwise report the bug with the detail (it names the field) and the version. Other requests are not affected.",
  },
  upstream_request_failed: {
    subject: "Upstreams",
    of: "name of the model",
    means:
      "No endpoint of the model gave a usable response (no connection, a timeout, a redirect). The client got 502 or 504. Raised when a model [fails often](docs/rules/alerts.md#failures-of-upstreams), by default 3 times in a minute.",
    action:
      "Read `GET /api/v1/models/{id}/health` and the request's log line (`endpoint`, `attempts`, `timeouts`). `debug_diagnostics` of the model also shows whether its name resolves and its port is open. Then see [GatewayUpstreamsExhausted](#gatewayupstreamsexhausted).",
  },
  upstream_5xx_response: {
    subject: "Upstreams",
    of: "name of the model",
    means:
      "The upstream's last response was a 5xx. The client got it as 502 (520 to 529 unchanged) with the upstream's body. Raised when a model [fails often](docs/rules/alerts.md#failures-of-upstreams), by default 3 times in a minute.",
    action:
      "Read the upstream's own log at that time. A 503 from an inference server usually means that its queue is full: lower `max_in_flight` of the model.",
  },
  upstream_stream_error: {
    subject: "Upstreams",
    of: "name of the model",
    means:
      "A response broke off or timed out after it had started, or the upstream reported an error in the middle of it. The client got an error event in the stream; the part that arrived is billed. Raised when a model [fails often](docs/rules/alerts.md#failures-of-upstreams), by default 3 times in a minute.",
    action:
      "With one model: its server crashes or restarts (out of memory?), a proxy in between cuts long connections, or `request_timeout_secs` or `idle_timeout_secs` is too short for its responses (the log says which). With all models at once: the network, or a restart of the Worker.",
  },
  queue_wait_long: {
    subject: "Upstreams",
    of: "cell and name of the model",
    means:
      "For a minute, requests of the model have waited longer than `GATEWAY_ALERT_QUEUE_WAIT_SECS` (30 s) in the queue of the cell. Raised again each minute while it lasts.",
    action:
      "`GET /api/v1/fairshare/live` has the `reason` of each queue that waits. `model_cap`: add a replica or an endpoint, or raise `max_in_flight` of the model if its server has room. `tenant_cap` or a share: one tenant sends more than it may run at once, and the others are served. `cell_full`: raise the capacity of the cell. `budget`: see [scheduler_unavailable](#scheduler_unavailable).",
  },
  model_health_down: {
    subject: "Upstreams",
    of: "name of the model",
    means: "`failure_threshold` health checks in a row failed. Raised once per outage.",
    action:
      "`GET /api/v1/models/{id}/health` shows the result of each check: a status, a timeout, a name that does not resolve. `maintenance_until` mutes alerts during planned work. If the model serves requests but fails its check, change its health configuration, not the server. [model_health_recovery](#model_health_recovery) ends the outage.",
  },
  model_health_recovery: {
    subject: "Upstreams",
    of: "name of the model",
    means: "The model is healthy again. The detail says how long it was down.",
    action: NOTHING,
  },
  guardrails_input: {
    subject: "Upstreams",
    of: "id of the tenant",
    means:
      "A [guardrails policy](docs/rules/guardrails.md#actions) matched requests of the tenant. The policy decides whether they were blocked, redacted or only recorded.",
    action:
      "Look at a few usage rows. Is somebody probing the limits, or is the policy too broad? `gateway guardrails test` tries the policy on a text.",
  },
  guardrails_output: {
    subject: "Upstreams",
    of: "id of the tenant",
    means: "A [guardrails policy](docs/rules/guardrails.md#actions) matched responses to the tenant.",
    action: "Same as [guardrails_input](#guardrails_input). Check the model's output and its instructions.",
  },
  guardrails_input_harm: {
    subject: "Upstreams",
    of: "id of the tenant",
    means: "The guard model rated requests of the tenant as harmful.",
    action: "Same as [guardrails_input](#guardrails_input). Talk to the tenant.",
  },
  guardrails_output_harm: {
    subject: "Upstreams",
    of: "id of the tenant",
    means: "The guard model rated responses to the tenant as harmful.",
    action: "Same as [guardrails_output](#guardrails_output).",
  },
  mcp_upstream_request_failed: {
    subject: "Upstreams",
    of: "name of the MCP server",
    means: "An MCP server did not answer, or its stored credential cannot be decrypted.",
    action:
      "`POST /api/v1/mcp-servers/{id}/test` shows what the server answers. _credential unreadable_: the Worker and the control service have different values of `GATEWAY_ENCRYPTION_KEY`. Otherwise check its `upstream_url`, certificate and process.",
  },
  mcp_upstream_5xx_response: {
    subject: "Upstreams",
    of: "name of the MCP server",
    means: "An MCP server answered 5xx. Applications get its response; in the tool loop, the model gets an error.",
    action: "Read the MCP server's own log.",
  },
  mcp_tool_discovery_failed: {
    subject: "Upstreams",
    of: "name of the MCP server",
    means:
      "A tool server did not list its tools. Requests to its models continue without them. The server is asked again after 10 s.",
    action:
      "Same as [mcp_upstream_request_failed](#mcp_upstream_request_failed); see also [tool loop](docs/watch.md#tool-loop).",
  },
  usage_spill_refused: {
    subject: "Usage rows",
    means:
      "ClickHouse has not accepted rows for so long that the Ledger's log is full (256 MiB or 1,024 segments per cell). Requests are still served, and budgets are charged.",
    action:
      "Bring ClickHouse back now: `gateway doctor` says what is wrong with it (unreachable, disk, permissions). `gateway_telemetry_dropped` counts the rows lost for good; note in reports for this period that they are incomplete. Resolved when the counter stops rising.",
  },
  usage_rows_refused: {
    subject: "Usage rows",
    means:
      "ClickHouse rejects rows because of their content. They are kept as dead letters (up to 1,000 per Ledger), hold up no other rows, and are retried every hour.",
    action:
      "Usually the tables belong to another release. Upgrade and start the control service, which migrates them; `gateway doctor` names tables and columns that differ. The log event `usage_row_refused` names a request. Resolved when `gateway_telemetry_aside` is 0.",
  },
  analytics_schema_changed: {
    subject: "Usage rows",
    means:
      "A column of a ClickHouse table is missing or has another type: somebody changed the table. Usage rows wait at the cells (up to 256 MiB per cell); none is stored without the column.",
    action:
      "`gateway doctor`, where `GATEWAY_CLICKHOUSE_URL` is set, names each column and the `ALTER TABLE` that brings it back. Run it; the rows that wait are then stored. What a dropped column had in older rows is lost. Resolved when the doctor finds no difference.",
  },
  disk_low: {
    subject: "The data plane and its parts",
    of: "name of the machine",
    means:
      "The disk of the data folder, or of `GATEWAY_WAL_PATH`, has less than 5 % or less than 512 MiB free. When it is full, requests get 503 _scheduler unavailable_, and no change, usage row or alert is stored.",
    action:
      "Make room on the disk or enlarge it. What grows: usage rows (`usage-retention` in the settings says for how many days), backups, and rows that wait while ClickHouse does not answer. If the disk is full already, the log has the causes: _database or disk is full_, _the disk is full_. Everything resumes automatically as soon as there is room.",
  },
  tenant_expiry: {
    subject: "Tenants, identities, energy",
    of: "id of the tenant",
    means: "The tenant's access ends within 72 hours. Raised once a day.",
    action:
      "Extend `active_until` (`PATCH /api/v1/tenants/{id}/schedule`), or let the access end: its keys then get 403, and nothing is deleted.",
  },
  identity_tenant_created: {
    subject: "Tenants, identities, energy",
    of: "name of the tenant",
    means: "The first identity token of a provider created the provider's tenant, with default settings and no caps.",
    action: "Set its group, weight and budget. If nobody expected it, check who can sign in at the provider.",
  },
  jwks_fetch_failed: {
    subject: "Tenants, identities, energy",
    of: "position of the provider in `GATEWAY_JWT_ISSUERS`, from 0",
    means:
      "The key set (JWKS) of an OIDC provider cannot be read. The last known keys stay in use; tokens signed with newer keys are refused.",
    action:
      "Fetch `jwks_url` from the Worker's machine. Is it the name, the certificate, a firewall, or a response that is not a key set?",
  },
  energy_power_poll_failed: {
    subject: "Tenants, identities, energy",
    means:
      "The query for the power draw of the nodes failed. The last reading stays in use; without one, no energy is recorded. Requests are not affected.",
    action: "`POST /api/v1/settings/energy/test` shows the response of the metrics server.",
  },
  test_alert: {
    subject: "Tenants, identities, energy",
    means: "Somebody tested the alert channels with `POST /api/v1/settings/alerts/test`.",
    action: NOTHING,
  },
  slurm_reconcile_held: {
    subject: "Managed models",
    means:
      "The provisioner is enabled and has had no successful tick for 10 minutes (`GATEWAY_PROVISIONER_HELD_AFTER_SECS`); the detail says why. A tick in which any read fails changes nothing, because a plan made from incomplete data could stop jobs that serve requests. Running replicas keep serving; none is started, replaced or stopped, and nothing has to be cleaned up afterwards.",
    action: [
      "Check in this order:",
      "1. `GET /api/v1/settings/jobsched`: if `provisioner_running` is false, no provisioner is running: start one. `last_error` is the error of its last tick.",
      "2. `POST /api/v1/settings/jobsched/test`: if `token.expired` is true, create a new token (`scontrol token` on the cluster) and save it with `PUT /api/v1/settings/jobsched`. `ping.error` says why the scheduler does not answer.",
      "3. _the settings of the job scheduler are incomplete_: `url`, `user` or the token is missing.",
      "4. A `provision_error` in `GET /api/v1/managed` is another problem: the scheduler answers, but rejects the job ([provision_failed](#provision_failed)).",
    ].join("\n"),
  },
  slurm_reconcile_recovered: {
    subject: "Managed models",
    means: "A tick of the provisioner succeeded again.",
    action: NOTHING,
  },
};
