/**
 * What each alert of the gateway means and what to do, for docs/reference/alerts.md: the steps that a message, the console and
 * `gateway doctor` lead to. Texts are Markdown; a link to `docs/` is written from the root of the repository.
 */
import type { AlertKey } from "../../shared/catalogues/alerts.ts";

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
    means: "The Cell did not answer. Requests without a slot get 503. It recovers by itself, without a further alert.",
    action:
      "On one machine: the log shows which part died or hung; the launcher restarts it within 26 s. In a cluster: the Cell's machine is gone and another one takes over ([cluster.md](docs/cluster.md)). On Cloudflare: check the status of Durable Objects. _overloaded_ in the detail means that one Cell cannot decide more: add a cell.",
  },
  redis_key_lookup_failed: {
    subject: "The data plane and its parts",
    means:
      "A key could not be read from the key-value store. What an isolate knows is served for up to an hour; unknown keys get `503 key store unavailable`.",
    action:
      "Run `gateway doctor` where `GATEWAY_REDIS_URL` is set: it says whether the store is away, wants another password or is full. _unreadable record_ in the detail: something else wrote the name, and `POST /api/v1/resync` writes it again. After the store has lost everything nothing has to be done: a comparison fills it within five minutes, the resync at once.",
  },
  redis_model_lookup_failed: {
    subject: "The data plane and its parts",
    means: "A model could not be read from the key-value store. What an isolate knows is served for up to an hour.",
    action: "As [redis_key_lookup_failed](#redis_key_lookup_failed).",
  },
  redis_mcp_lookup_failed: {
    subject: "The data plane and its parts",
    means:
      "An MCP server could not be read from the key-value store. What an isolate knows is served for up to an hour.",
    action: "As [redis_key_lookup_failed](#redis_key_lookup_failed).",
  },
  redis_cache_lookup_failed: {
    subject: "The data plane and its parts",
    means: "The response cache could not be read. Requests go upstream, and nothing fails.",
    action:
      "As [redis_key_lookup_failed](#redis_key_lookup_failed). If it comes alone, check the store's limits on the size and number of requests.",
  },
  redis_cache_store_failed: {
    subject: "The data plane and its parts",
    means: "An answer could not be stored in the response cache. Nothing fails.",
    action: "As [redis_cache_lookup_failed](#redis_cache_lookup_failed). Most often the memory of the store is full.",
  },
  redis_sync_failed: {
    subject: "The data plane and its parts",
    means:
      "A change of configuration has waited for more than a minute for the key-value store or a cell. A cell that was not reached serves the old configuration: a key that was disabled may still work there for up to five minutes.",
    action:
      "Find the part that is away: the store ([redis_key_lookup_failed](#redis_key_lookup_failed)) or a cell ([GatewayCellDown](#gatewaycelldown)). Bring it back. Changes are then delivered in order within seconds and need not be repeated.",
  },
  backup_failed: {
    subject: "The data plane and its parts",
    means:
      "A [scheduled backup](docs/recover.md#scheduled-backups) could not be stored or read back. The older ones are still there. It is tried again, at first within five minutes.",
    action:
      "The detail has the place and the reason: permissions, no room, a bucket that is away, a credential that has expired. Fix that; the next run makes up for it. If the configuration cannot be exported, check the database. Meanwhile `gateway backup export` on another machine is a backup too. Afterwards `gateway drill` shows that the newest can be restored. _Cannot be read back_: the credentials may write and not read, or the bucket is too slow. _Stays there unverified_: they may not delete either. Allow both; attempts are rare by then, and the next one is at most one interval away. Remove by hand the files that the log event `backup_not_removed` names: nobody has read them, and a drill would take the newest of them.",
  },
  admin_auth_failures: {
    subject: "The data plane and its parts",
    means: "20 or more wrong admin or internal tokens came within a minute.",
    action:
      "The log event `auth_failed` has the addresses. If one is yours, a service has an old token. Else limit who can reach the admin listener and `/internal`, and change the token if somebody may know it ([tokens](docs/run.md#tokens)). Tokens are long and random: guessing alone does not succeed.",
  },
  term_budget_warn: {
    subject: "Budgets",
    of: "id of the tenant",
    means: "80 % of a tenant's term budget is used. Once per period.",
    action:
      "`gateway tenants budget <name> --used` shows how much is left and until when. Tell the tenant, or raise the cap (`PATCH /api/v1/tenants/{id}/budget`).",
  },
  key_term_budget_warn: {
    subject: "Budgets",
    of: "id of the API key",
    means: "80 % of a key's term budget is used. Once per period.",
    action:
      "As [term_budget_warn](#term_budget_warn), for one key. `GET /api/v1/usage/keys/summary` shows what each key has spent; `PUT /api/v1/keys/{id}` raises its cap.",
  },
  term_budget_exhausted: {
    subject: "Budgets",
    of: "id of the tenant",
    means: "A tenant's budget is used up. Its requests get 403 until the next period or a higher cap.",
    action:
      "Is this what the tenant wanted? `GET /api/v1/usage/breakdown` by key and model shows where the budget went. Raise the cap, or leave it.",
  },
  key_term_budget_exhausted: {
    subject: "Budgets",
    of: "id of the API key",
    means: "A key's budget is used up. Its requests get 403 until the next period or a higher cap.",
    action: "As [term_budget_exhausted](#term_budget_exhausted), for one key.",
  },
  redis_budget_reserve_failed_open: {
    subject: "Budgets",
    means:
      "The budget object of a tenant did not answer. `GATEWAY_FAIL_OPEN` is on, so the request was served unchecked, and what it used is charged later. Tenants may pass their caps while this lasts. (The name is from an older storage: budgets are not in the key-value store.)",
    action:
      "Check Durable Objects as for [scheduler_unavailable](#scheduler_unavailable). If no cap may be passed, set `GATEWAY_FAIL_OPEN=0`: then such requests get 503.",
  },
  redis_key_budget_reserve_failed_open: {
    subject: "Budgets",
    means:
      "The budget object did not answer for the budget of a key. `GATEWAY_FAIL_OPEN` is on, so the request was served unchecked, and what it used is charged later.",
    action: "As [redis_budget_reserve_failed_open](#redis_budget_reserve_failed_open).",
  },
  redis_budget_reserve_failed_closed: {
    subject: "Budgets",
    means: "The budget object of a tenant did not answer. `GATEWAY_FAIL_OPEN` is off, so the request got 503.",
    action:
      "Check Durable Objects as for [scheduler_unavailable](#scheduler_unavailable). Switching `GATEWAY_FAIL_OPEN` on serves meanwhile.",
  },
  redis_key_budget_reserve_failed_closed: {
    subject: "Budgets",
    means:
      "The budget object did not answer for the budget of a key. `GATEWAY_FAIL_OPEN` is off, so the request got 503.",
    action: "As [redis_budget_reserve_failed_closed](#redis_budget_reserve_failed_closed).",
  },
  redis_budget_reconcile_failed: {
    subject: "Budgets",
    means:
      "What requests used could not be reported to the per-minute buckets for 30 s. It is repeated until it is stored.",
    action:
      "Nothing, if it ends within minutes. Else as [scheduler_unavailable](#scheduler_unavailable). A Cell that dies in this state leaves its leases counted as spent until the ledger was asked.",
  },
  redis_term_usage_failed: {
    subject: "Budgets",
    means:
      "What requests used could not be reported to the budget of a tenant for 30 s. It is repeated until it is stored.",
    action: "As [redis_budget_reconcile_failed](#redis_budget_reconcile_failed).",
  },
  redis_key_term_usage_failed: {
    subject: "Budgets",
    means:
      "What requests used could not be reported to the budget of a key for 30 s. It is repeated until it is stored.",
    action: "As [redis_budget_reconcile_failed](#redis_budget_reconcile_failed).",
  },
  budget_amount_refused: {
    subject: "Budgets",
    means:
      "Either an upstream reported usage that cannot be true: the detail names the model, the request was served, and its estimate was charged. Or a number that is no amount (a whole number from 0 to 2^53 - 1) was about to enter a budget: a defect of the gateway. That request got `503 budget check failed`, also with `GATEWAY_FAIL_OPEN` on, and charged nothing.",
    action:
      "If the detail says that usage is not believed: correct the upstream of that model, or take the endpoint out. Else report the detail, which names the field, with the version. Other requests are not affected.",
  },
  upstream_request_failed: {
    subject: "Upstreams",
    means:
      "No endpoint of the model gave an answer that could be passed on (no connection, no answer in time, a redirect). The client got 502 or 504.",
    action:
      "Read `GET /api/v1/models/{id}/health` and the request's log line (`endpoint`, `attempts`, `timeouts`). `debug_diagnostics` of the model adds whether its name resolves and its port is open. Then as [GatewayUpstreamsExhausted](#gatewayupstreamsexhausted).",
  },
  upstream_5xx_response: {
    subject: "Upstreams",
    means: "The last answer of the upstream was a 5xx. The client got 502 with the upstream's body.",
    action:
      "Read the upstream's own log at that time. 503 of an inference server is most often a full queue: lower `max_in_flight` of the model.",
  },
  upstream_stream_error: {
    subject: "Upstreams",
    means:
      "An answer broke off, or passed its time limit, after it had started. The client got an error event at the end of the stream; what was seen is billed.",
    action:
      "Of one model: its server crashes or restarts (out of memory?), a proxy between cuts long connections, or `request_timeout_secs` is too short for its answers. Of all models at once: the network, or a restart of the Worker.",
  },
  model_health_down: {
    subject: "Upstreams",
    of: "name of the model",
    means: "`failure_threshold` checks in a row found the model unhealthy. Once per outage.",
    action:
      "`GET /api/v1/models/{id}/health` shows what each check got: a status, a time limit, a name that does not resolve. `maintenance_until` silences planned work. A model that serves and fails its check needs another health configuration, not another server. [model_health_recovery](#model_health_recovery) ends it.",
  },
  model_health_recovery: {
    subject: "Upstreams",
    of: "name of the model",
    means: "The model is healthy again. The detail says how long it was not.",
    action: NOTHING,
  },
  guardrails_input: {
    subject: "Upstreams",
    of: "id of the tenant",
    means:
      "A [guardrails policy](docs/rules/guardrails.md#actions) matched in requests of the tenant. The policy says whether they were refused, redacted or only noted.",
    action:
      "Look at a few rows. Does somebody try how far they get, or is the policy too wide? `gateway guardrails test` tries texts.",
  },
  guardrails_output: {
    subject: "Upstreams",
    of: "id of the tenant",
    means: "A [guardrails policy](docs/rules/guardrails.md#actions) matched in answers to the tenant.",
    action: "As [guardrails_input](#guardrails_input). Check what the model says, or its instructions.",
  },
  guardrails_input_harm: {
    subject: "Upstreams",
    of: "id of the tenant",
    means: "The guard model called requests of the tenant harmful.",
    action: "As [guardrails_input](#guardrails_input). Talk to the tenant.",
  },
  guardrails_output_harm: {
    subject: "Upstreams",
    of: "id of the tenant",
    means: "The guard model called answers harmful.",
    action: "As [guardrails_output](#guardrails_output).",
  },
  mcp_upstream_request_failed: {
    subject: "Upstreams",
    means: "An MCP server did not answer, or its stored credential cannot be opened.",
    action:
      "`POST /api/v1/mcp-servers/{id}/test` shows what the server answers. _credential unreadable_: the planes have different `GATEWAY_ENCRYPTION_KEY`s. Else check its `upstream_url`, its certificate, its process.",
  },
  mcp_upstream_5xx_response: {
    subject: "Upstreams",
    means:
      "An MCP server answered 5xx. Applications get its answer; with the tool loop the model is told of the failure.",
    action: "Read the MCP server's own log.",
  },
  mcp_tool_discovery_failed: {
    subject: "Upstreams",
    means:
      "A tool server did not list its tools. Requests of its models go on without them. It is asked again after 10 s.",
    action:
      "As [mcp_upstream_request_failed](#mcp_upstream_request_failed); see also [tool loop](docs/watch.md#tool-loop).",
  },
  usage_spill_refused: {
    subject: "Usage rows",
    means:
      "Rows are being lost. The Ledger's log is full (256 MiB or 1,024 segments per cell) because ClickHouse has not taken rows for long. Requests go on, and budgets are charged.",
    action:
      "Bring ClickHouse back now: `gateway doctor` says what is wrong with it (away, disk, rights). `gateway_telemetry_dropped` counts what is lost for good; say in the report of the period that it is incomplete. It is over when the counter stands still.",
  },
  usage_rows_refused: {
    subject: "Usage rows",
    means:
      "ClickHouse refuses rows for their content. They are kept as dead letters (up to 1,000 per ledger), hold nothing else up, and are tried again every hour.",
    action:
      "Most often the tables are not those of this release. Upgrade and start the control service, which migrates them; `gateway doctor` names missing ones. The log event `usage_row_refused` names a request. It is over when `gateway_telemetry_aside` is 0.",
  },
  tenant_expiry: {
    subject: "Tenants, identities, energy",
    of: "id of the tenant",
    means: "The tenant's access ends within 72 hours. Once a day.",
    action:
      "Extend `active_until` (`PATCH /api/v1/tenants/{id}/schedule`), or let the access end: then its keys get 403, and nothing is deleted.",
  },
  identity_tenant_created: {
    subject: "Tenants, identities, energy",
    of: "name of the tenant",
    means: "The first identity token of a provider made a tenant, with defaults and without caps.",
    action: "Give it its group, weight and budget. If nobody expected it, check who may sign in at the provider.",
  },
  jwks_fetch_failed: {
    subject: "Tenants, identities, energy",
    of: "place of the provider in `GATEWAY_JWT_ISSUERS`, from 0",
    means:
      "The key set of an OIDC provider cannot be read. The last keys stay in use; tokens signed with newer ones are refused.",
    action:
      "Fetch `jwks_url` from the machine of the Worker: a name, a certificate, a firewall, an answer that is no key set?",
  },
  energy_power_poll_failed: {
    subject: "Tenants, identities, energy",
    means:
      "The query for the power of the nodes failed. The last reading stays in use; without one no energy is recorded. Requests are not affected.",
    action: "`POST /api/v1/settings/energy/test` shows the answer of the metrics server.",
  },
  test_alert: {
    subject: "Tenants, identities, energy",
    means: "Somebody tried the channels with `POST /api/v1/settings/alerts/test`.",
    action: NOTHING,
  },
  slurm_reconcile_held: {
    subject: "Managed models",
    means:
      "The provisioner is enabled and has had no successful tick for 10 minutes (`GATEWAY_PROVISIONER_HELD_AFTER_SECS`); the detail says why. A tick in which any read fails changes nothing, because a plan made from half of the truth could end jobs that serve. Replicas that run go on serving; none is started, replaced or ended, and nothing has to be cleaned up afterwards.",
    action: [
      "Check in this order:",
      "1. `GET /api/v1/settings/jobsched`: `provisioner_running` false means that no provisioner reads its settings, so start it. `last_error` is what its last tick said.",
      "2. `POST /api/v1/settings/jobsched/test`: `token.expired` true means that the token has to be made anew (`scontrol token` on the cluster) and saved with `PUT /api/v1/settings/jobsched`. `ping.error` says why the scheduler does not answer.",
      "3. _the settings of the job scheduler are incomplete_: `url`, `user` or the token is missing.",
      "4. Models with a `provision_error` in `GET /api/v1/managed` are another matter: there the scheduler answers, and refuses ([provision_failed](#provision_failed)).",
    ].join("\n"),
  },
  slurm_reconcile_recovered: {
    subject: "Managed models",
    means: "A tick has succeeded again.",
    action: NOTHING,
  },
};
