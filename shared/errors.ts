/**
 * The closed table of errors that the gateway itself produces: code -> status, type, message
 * (docs/rules/errors.md#data-plane-codes). It decides the one error body of both planes. It never contains internals: only the
 * texts of the table can be sent to a client. An upstream's own error body is passed through and does not have this form.
 */

type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "permission_error"
  | "not_found_error"
  | "conflict_error"
  | "rate_limit_error"
  | "upstream_error"
  | "server_error";

interface ErrorRow {
  readonly status: number;
  readonly message: string;
  /** The field that the code always names; the code that throws may name another one. */
  readonly param?: string;
}

/**
 * Codes of the data plane; the Management API has some of them too. `<x>` in a message is replaced by `ErrorOptions.value`
 * (docs/rules/errors.md#data-plane-codes).
 */
export const DATA_PLANE_ERRORS = {
  invalid_path: { status: 400, message: "invalid request path" },
  invalid_json: { status: 400, message: "request body is not valid JSON" },
  invalid_multipart: { status: 400, message: "invalid multipart body" },
  model_required: { status: 400, message: "model is required", param: "model" },
  validation_failed: { status: 400, message: "validation failed" },
  request_larger_than_quota: { status: 400, message: "request needs <x>: send less, or lower max_tokens" },
  request_blocked: { status: 400, message: "request blocked by content policy" },
  response_blocked: { status: 400, message: "response blocked by content policy" },
  /** A field that the dialect of the model cannot carry (docs/rules/dialects.md#what-is-lost). */
  untranslatable_field: { status: 400, message: "a field cannot be translated for this model" },
  untranslatable_route: {
    status: 400,
    message: "model '<x>' is not served on this path: send a chat completion, a message or a response",
    param: "model",
  },
  /** Over a WebSocket of Responses only (docs/rules/realtime.md#responses-over-a-websocket). */
  previous_response_not_found: {
    status: 400,
    message: "previous response '<x>' is not kept on this connection: send the whole input",
    param: "previous_response_id",
  },
  missing_api_key: { status: 401, message: "missing bearer token" },
  invalid_api_key: { status: 401, message: "invalid api key" },
  invalid_token: { status: 401, message: "invalid token" },
  api_key_disabled: { status: 403, message: "api key disabled" },
  api_key_expired: { status: 403, message: "api key expired" },
  tenant_not_found: { status: 403, message: "tenant not found" },
  tenant_not_active: { status: 403, message: "tenant is not active" },
  tenant_not_started: { status: 403, message: "tenant is not active yet" },
  tenant_expired: { status: 403, message: "tenant access has expired" },
  outside_access_window: { status: 403, message: "tenant is outside its scheduled access window" },
  model_disabled: { status: 403, message: "model is disabled", param: "model" },
  model_not_permitted: { status: 403, message: "model not permitted for tenant", param: "model" },
  tenant_budget_exhausted: { status: 403, message: "tenant term budget exhausted" },
  key_budget_exhausted: { status: 403, message: "api key term budget exhausted" },
  end_user_budget_exhausted: { status: 403, message: "end user term budget exhausted" },
  file_quota_exceeded: { status: 403, message: "files of the tenant would exceed <x>: delete some", param: "file" },
  mcp_server_disabled: { status: 403, message: "mcp server is disabled" },
  model_not_found: { status: 404, message: "model '<x>' is not registered", param: "model" },
  mcp_server_not_found: { status: 404, message: "mcp server '<x>' is not registered" },
  /** The session belongs to another tenant; MCP clients react to a 404 by starting a new session (docs/rules/mcp.md#sessions). */
  mcp_session_not_found: { status: 404, message: "mcp session is not known" },
  /** Also for an object of another tenant (docs/rules/routes.md#objects-of-upstreams). */
  object_not_found: { status: 404, message: "object '<x>' was not found" },
  unknown_endpoint: { status: 404, message: "unknown endpoint" },
  request_timeout: { status: 408, message: "request body timed out" },
  request_too_large: { status: 413, message: "request body too large" },
  unsupported_encoding: {
    status: 415,
    message: "content-encoding must be gzip, deflate, br or zstd, and the body must be in it",
  },
  websocket_unsupported: { status: 426, message: "WebSocket is not served here: send the request with POST" },
  realtime_upgrade_required: { status: 426, message: "this path serves WebSockets only: connect with an upgrade" },
  token_budget_exceeded: { status: 429, message: "token budget exceeded" },
  request_rate_exceeded: { status: 429, message: "request rate exceeded" },
  queue_full: { status: 429, message: "queue is full" },
  /** Calls on `/v1/files` and `/v1/batches`. */
  files_busy: { status: 429, message: "too many calls for files and batches at once; try again" },
  internal_error: { status: 500, message: "internal error" },
  /** In-band only, before a realtime session is closed (docs/rules/realtime.md#close-codes). */
  realtime_session_expired: { status: 408, message: "the session has reached its time limit: open another one" },
  realtime_session_idle: { status: 408, message: "the session was idle for too long: open another one" },
  realtime_backlog: { status: 429, message: "messages come faster than they are taken" },
  upstream_failed: { status: 502, message: "upstream request failed" },
  /** In-band only: the last event of a stream that broke off (docs/rules/streams.md#broken-streams). */
  upstream_stream_error: { status: 502, message: "upstream stream interrupted" },
  mcp_upstream_failed: { status: 502, message: "mcp upstream request failed" },
  scheduler_unavailable: { status: 503, message: "scheduler unavailable" },
  budget_check_failed: { status: 503, message: "budget check failed" },
  key_budget_check_failed: { status: 503, message: "key budget check failed" },
  content_policy_unavailable: { status: 503, message: "content policy scanner unavailable" },
  no_model_available: { status: 503, message: "no model is available to satisfy the auto request", param: "model" },
  /** Also in-band: the last event of a stream that still ran at the end of a stop (docs/rules/local-stack.md#stop). */
  gateway_stopping: { status: 503, message: "the gateway is stopping; try again" },
  key_store_unavailable: { status: 503, message: "key store unavailable" },
  /** `/v1/files` and `/v1/batches` need the control service. */
  files_unavailable: { status: 503, message: "files and batches are unavailable; try again" },
  identity_unavailable: { status: 503, message: "identity provisioning unavailable" },
  upstream_timeout: { status: 504, message: "upstream request timed out" },
} as const satisfies Record<string, ErrorRow>;

/** Codes of both planes (docs/rules/errors.md#management-codes). */
export const ERROR_TABLE = {
  ...DATA_PLANE_ERRORS,
  address_blocked: { status: 400, message: "<x> resolves to a blocked address" },
  unknown_field: { status: 400, message: "unknown field <x>" },
  unknown_fairshare_group: { status: 400, message: "fairshare group '<x>' does not exist", param: "fairshare_group" },
  no_alert_channel: { status: 400, message: "no alert channels are configured" },
  autotune_unsupported: { status: 400, message: "autotune supports chat and embedding models only" },
  energy_test_failed: { status: 400, message: "power query failed: <x>" },
  jobsched_not_configured: { status: 400, message: "job scheduler url is not set" },
  backup_format: { status: 400, message: "not a gateway config backup of a supported version" },
  backup_key_mismatch: { status: 400, message: "backup was created with a different encryption key" },
  backup_key_missing: { status: 400, message: "backup is encrypted but no encryption key is configured" },
  unauthorized: { status: 401, message: "unauthorized" },
  builtin_recipe: { status: 403, message: "built-in recipes cannot be changed" },
  not_found: { status: 404, message: "not found" },
  method_not_allowed: { status: 405, message: "method not allowed" },
  too_many_keys: { status: 409, message: "the tenant has <x> keys; delete one that is not used" },
  already_exists: { status: 409, message: "<x> already exists" },
  autotune_running: { status: 409, message: "autotune is already running" },
  idempotency_key_reuse: { status: 409, message: "idempotency key was used with a different request" },
  idempotency_in_progress: { status: 409, message: "a request with this idempotency key is still running" },
  changed_meanwhile: { status: 412, message: "the record has changed since it was read" },
  jobsched_unreachable: { status: 502, message: "job scheduler is unreachable" },
  cell_unreachable: { status: 502, message: "cell '<x>' is unreachable" },
  database_unavailable: { status: 503, message: "database unavailable" },
  analytics_unavailable: { status: 503, message: "analytics store unavailable" },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** One invalid field of a Management request; `path` is dotted (docs/rules/errors.md#error-body). */
export interface ErrorDetail {
  readonly path: string;
  readonly message: string;
}

/** The one error body of both planes (docs/rules/errors.md#error-body). */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: ErrorType;
    readonly code: string | null;
    readonly param: string | null;
    readonly details?: readonly ErrorDetail[];
    readonly present?: object;
  };
}

export interface ErrorOptions {
  /** Replaces `<x>` in the table's message. */
  readonly value?: string;
  readonly param?: string | null;
  /**
   * With `validation_failed` on the data plane and `untranslatable_field`: the field and what to change; it replaces the
   * table's message (docs/rules/budgets.md#amounts).
   */
  readonly complaint?: string;
  readonly details?: readonly ErrorDetail[];
  /** With `changed_meanwhile`: the current record. */
  readonly present?: object;
  /** Headers of the answer, with lower-case names (`retry-after`, `allow`, `x-should-retry`). */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only, never sent. */
  readonly cause?: unknown;
}

/** Whether a value is a code of the table. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_TABLE, value);
}

/** The status of a code. */
export function errorStatus(code: ErrorCode): number {
  return ERROR_TABLE[code].status;
}

/** The type of an error by its status (docs/rules/errors.md#data-plane-codes). */
export function errorType(status: number): ErrorType {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 409:
    case 412:
      return "conflict_error";
    case 429:
      return "rate_limit_error";
    case 502:
    case 504:
      return "upstream_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

/** The error body of a code; `options` as in {@link GatewayError}. */
export function errorBody(code: ErrorCode, options: ErrorOptions = {}): ErrorBody {
  const row: ErrorRow = ERROR_TABLE[code];
  const param = options.param === undefined ? (options.details?.[0]?.path ?? row.param ?? null) : options.param;
  return {
    error: {
      message: options.complaint ?? row.message.replace("<x>", () => options.value ?? ""),
      type: errorType(row.status),
      code,
      param,
      ...(options.details === undefined ? {} : { details: options.details }),
      ...(options.present === undefined ? {} : { present: options.present }),
    },
  };
}

/** The error at the end of a stream that broke, with its fault if it is known. */
export function brokenStreamBody(fault: string | null): ErrorBody {
  const { message } = ERROR_TABLE.upstream_stream_error;
  return errorBody("upstream_stream_error", fault === null ? {} : { complaint: `${message}: ${fault}` });
}

/** Thrown in the outer layers only; one handler per app turns it into {@link ErrorBody}. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly code: ErrorCode;
  readonly options: ErrorOptions;

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    super(errorBody(code, options).error.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.options = options;
  }

  get status(): number {
    return errorStatus(this.code);
  }

  get body(): ErrorBody {
    return errorBody(this.code, this.options);
  }

  get headers(): Readonly<Record<string, string>> {
    const auth = this.status === 401 ? { "www-authenticate": "Bearer" } : {};
    return { ...auth, ...this.options.headers };
  }
}
