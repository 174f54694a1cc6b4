/** What the console's server answers when it refuses (docs/rules/console.md#errors). */
import { errorType } from "../../shared/errors.ts";

/** Code -> status and message. */
export const DASHBOARD_ERRORS = {
  sign_in_failed: { status: 401, message: "email or password is wrong" },
  signed_out: { status: 401, message: "sign in first" },
  account_pending: { status: 403, message: "an admin has not approved this account yet" },
  account_disabled: { status: 403, message: "this account is disabled" },
  no_tenant: { status: 403, message: "this account has no tenant" },
  read_only: { status: 403, message: "this account can only read" },
  forbidden: { status: 403, message: "this account is not allowed to do this" },
  origin_not_allowed: { status: 403, message: "the Origin header is missing or from another site" },
  host_not_allowed: {
    status: 403,
    message:
      "this host is not configured for the console; set DASHBOARD_PUBLIC_URL, or open the console at http://localhost",
  },
  too_many_sign_ins: { status: 429, message: "too many failed sign-ins from this address; try again later" },
  too_many_calls: { status: 429, message: "too many calls are open; close some, or try again" },
  data_plane_unavailable: { status: 503, message: "the data plane is not responding; try again" },
  assistant_off: { status: 409, message: "the assistant is off or has no model; check its settings" },
  proposal_unusable: {
    status: 409,
    message: "this proposal has expired, was already run, belongs to another sign-in, or its tool is off; ask again",
  },
  management_unavailable: { status: 503, message: "the Management API is not responding; try again" },
} as const;

type DashboardErrorCode = keyof typeof DASHBOARD_ERRORS;

/** Thrown in the console's server; becomes an error body of the same form as the Management API's. */
export class DashboardError extends Error {
  override readonly name = "DashboardError";
  readonly status: (typeof DASHBOARD_ERRORS)[DashboardErrorCode]["status"];
  readonly code: DashboardErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: DashboardErrorCode, headers: Readonly<Record<string, string>> = {}) {
    super(DASHBOARD_ERRORS[code].message);
    this.code = code;
    this.status = DASHBOARD_ERRORS[code].status;
    this.headers = headers;
  }

  get body(): object {
    return { error: { message: this.message, type: errorType(this.status), code: this.code, param: null } };
  }
}
