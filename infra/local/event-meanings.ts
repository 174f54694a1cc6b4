/**
 * The meaning of each event in the parts' logs, in one sentence for a person at a terminal. A test compares the tables with the
 * events that the parts log.
 */
type Meanings = Readonly<Record<string, string>>;

/** Some of these are the control service's as well. */
const WORKER_EVENTS: Meanings = {
  alert_lost: "an alert could not be stored and will not be sent",
  alerts_wait: "the Ledger object does not answer; alerts wait in this process and are retried",
  ask_failed: "a Durable Object did not answer the cell; the cell asks again",
  auto_classifier_failed: "the auto router's classifier failed or timed out; keywords in the request decided instead",
  auth_failed: "a caller sent a wrong admin or internal token; the event has its address",
  boon_failed: "a boon (model add-on) failed; the request continued without it",
  budget_alarm_failed: "the timer of a tenant's budget failed; it is retried",
  budget_rows_damaged:
    "stored entries of a tenant's budget could not be read; they count as spent until they are checked against the ledger",
  cell_report_failed: "the cell could not report its state; it retries",
  cell_save_failed: "the cell could not store its state; it retries",
  configuration_invalid: "a variable of the Worker is invalid; no request is served until it is fixed",
  websocket_response_failed:
    "the answer to a request on a WebSocket of Responses could not be read; its client was told",
  credential_unreadable:
    "the stored credential of an upstream cannot be decrypted: is GATEWAY_ENCRYPTION_KEY the right one?",
  compressor_failed: "the compression sidecar failed or timed out; the text was left unchanged",
  exchange_lost: "the connection to the cell broke; a new one is opened, and open calls are repeated",
  identity_not_provisioned:
    "the control service did not create the key of a new identity; the identity's next request tries again",
  key_hash_not_renewed:
    "the control service did not renew the hash of a key that was made with an old pepper; a later use tries again",
  key_store_available: "the key-value store answers again; the event says how many calls failed, and for how long",
  key_store_failed:
    "the key-value store failed or timed out; a read that a request needs is retried once, then the request gets 503. Logged once, then once a minute",
  ledger_shipping_available: "usage rows or spans reach the analytics store again",
  ledger_shipping_failed:
    "usage rows or spans could not be written to the analytics store; they are kept and retried. Logged once, then once a minute",
  request: "a request completed",
  scheduler_available: "the cell, which admits requests, answers again; the event says how many calls failed",
  scheduler_unavailable: "the cell, which admits requests, does not answer; requests without a slot get 503",
  span_refused: "the analytics store rejected a span; the span was dropped",
  spans_lost: "the spans of a request could not be stored and are lost; its usage row is not",
  stored_objects_lost:
    "ids of stored answers could not be saved in the key-value store, and too many wait for it: other isolates do not know them",
  tool_failed: "a tool server returned no result for a tool call; the model got an error instead",
  trace_export_available: "spans reach the OpenTelemetry collector again",
  trace_export_failed:
    "spans could not be exported to the OpenTelemetry collector and are lost; requests do not wait for it. Logged once, then once a minute",
  upstream_5xx_response: "an upstream returned an error, even after retries",
  upstream_diagnostics: "a failed upstream was checked: whether its name resolves and its port is open",
  upstream_request_failed: "an upstream could not be reached or did not answer",
  upstream_stream_error: "an upstream stopped in the middle of its response",
  usage_row_lost: "neither the cell nor the Ledger accepted a usage row; the row is lost, and counted",
  usage_row_refused: "the analytics store rejects a usage row; the row is kept and retried every hour",
  variable_unknown: "no part of the gateway reads this variable, which may be misspelt; the nearest name is beside it",
};

const CONTROL_EVENTS: Meanings = {
  assistant_failed: "the assistant could not answer; the event names the fault",
  assistant_ran: "a person ran a change that the assistant proposed",
  batch_line_left:
    "a line of a batch was under way when the service ended; the process that runs batches next handles it",
  batch_lines_not_read: "lines of batches could not be read; the next run of the job tries again",
  batch_lines_not_stored: "results of lines could not be stored; they are kept and stored again",
  batch_not_run: "a batch could not be validated or ended; it is tried again, and other batches continue",
  benchmark_not_ended: "a benchmark could not be closed; the next run of its job tries again",
  benchmark_not_saved: "figures of a benchmark could not be saved; the benchmark continues",
  admin_token_short: "the admin token is short enough to be guessed",
  alert: "an alert was raised",
  alert_not_sent: "an alert could not be sent to a channel",
  alerts_dropped: "a cell had no room for more alerts and dropped the oldest",
  analytics_available: "the analytics store answers again; the event says how many calls failed, and for how long",
  analytics_failed:
    "the analytics store refused a query or did not answer; usage cannot be read until it is back. Logged once, then once a minute",
  analytics_not_ready: "the analytics store does not answer yet; the tables are created when it does",
  backup_failed: "a scheduled backup failed; it is retried within five minutes",
  backup_not_removed:
    "a backup could not be removed; an old one is retried, but a file that the event names must be removed by hand",
  backup_stored: "a scheduled backup was stored and read back",
  budgets_rebuilt: "the budgets were recounted from the ledger",
  copy_cannot_be_built: "a record cannot be copied to the key-value store; the Worker keeps the previous copy",
  data_plane_unreachable:
    "the console cannot reach the data plane at GATEWAY_PROXY_OWN_URL, so its playground does not work",
  database_available: "the database answers again; the event says how many calls failed, and for how long",
  database_failed:
    "the database cannot be reached; changes are refused and jobs wait until it is back. Logged once, then once a minute",
  database_not_ready: "the database is not ready yet; the service waits for it",
  fill_failed: "the key-value store was emptied and could not be filled; it is tried again every two seconds",
  health_check_failed: "a round of model health checks failed; the next one runs as usual",
  hot_copies_not_synced: "the key-value store could not be compared with the database; the comparison is retried",
  internal_token_is_admin_token: "the internal token is the same as the admin token: anybody who knows one knows both",
  job_leases_failed: "the leases of the background jobs could not be renewed; another replica can take over the jobs",
  job_run: "a background job ran",
  jobs_taken: "this process now runs these background jobs",
  management_refused: "the Management API rejects the console's token, or has another address",
  management_unreachable: "the Management API cannot be reached",
  migrated: "the database schema was updated",
  model_health_changed: "a model or endpoint was found to be up or down",
  plaintext_forgotten: "the database files were rewritten without secrets in plaintext",
  plaintext_in_database_files:
    "secrets are encrypted now, but old files of the database may still hold them in plaintext",
  plaintext_not_forgotten: "the database files could not be rewritten; they may hold secrets in plaintext",
  provisioner_started: "a standalone provisioner has started",
  provisioner_tick: "a run (tick) of the provisioner changed something, or ended differently from the last one",
  provisioner_tick_failed: "the provisioner could not read or do everything in a run (tick); the event says why",
  publish_failed: "a change could not be sent to the Worker; it is retried",
  publish_incomplete: "a change did not reach every store and cell at once; it is retried",
  request_failed: "a request to the Management API failed because of an internal error",
  resync: "the key-value store was compared with the database",
  secrets_in_plaintext: "secrets are stored in plaintext because no encryption key is set",
  secrets_sealed: "secrets that were in plaintext are encrypted now",
  shared_secrets_replaced: "all instances of the cluster must use this instance's secrets from now on",
  sign_in_failed: "somebody could not sign in to the console",
  sign_in_provider_failed: "an identity provider for console sign-in could not be reached",
  recipe_unreadable: "a file in the recipes folder is not a recipe and was skipped, or the folder cannot be read",
  starting: "the control service is starting; the event has its version",
  setting_not_seeded: "a setting from the environment is invalid and was not stored",
  setting_unfit: "a stored setting has a value that it cannot have; the default applies: save the setting again",
};

const LAUNCHER_EVENTS: Meanings = {
  start_waits:
    "the start still waits for the part in `for`, since `secs` seconds; `last_line` is what that part said last",
  tls_certificate_ended: "the certificate of the data plane has expired, so clients refuse it: renew its files",
  tls_certificate_ends: "the certificate of the data plane expires within two weeks: renew its files",
  tls_not_reloaded: "the files of the certificate changed and cannot be served; the old certificate stays in use",
  tls_reloaded: "new connections get the new certificate from the files",
};

/** By the part that logs them. */
export const EVENTS_OF_PARTS: Readonly<Record<string, Meanings>> = {
  "The Worker": WORKER_EVENTS,
  "The control service and the console": CONTROL_EVENTS,
  "`npm start` and `npm run edge`": LAUNCHER_EVENTS,
};

export const EVENT_MEANINGS: Meanings = { ...WORKER_EVENTS, ...CONTROL_EVENTS, ...LAUNCHER_EVENTS };
