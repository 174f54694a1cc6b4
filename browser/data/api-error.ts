/** What the console's server refused, or that it could not be asked (docs/rules/console.md#errors). */
import { fieldsOf, textOf } from "./untyped.ts";

/** Longer texts are no error of the console's server. */
const MESSAGE_MAX_CHARACTERS = 4000;

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status; 0: there was no answer. */
  readonly status: number;
  /** Of the error table; `unreachable` or `not_understood` where nobody answered in its words. */
  readonly code: string;
  /** The field that is wrong; null: none is named. */
  readonly param: string | null;
  /** Seconds after which to try again; null: not said. */
  readonly retryAfterSecs: number | null;

  constructor(
    status: number,
    code: string,
    message: string,
    rest: { param?: string | null; retryAfterSecs?: number | null } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = rest.param ?? null;
    this.retryAfterSecs = rest.retryAfterSecs ?? null;
  }

  /** What the server said, as a sentence for people: its messages begin small, and codes are for programs. */
  get said(): string {
    return sentence(this.message);
  }

  /** True when the same request may succeed later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** A message or warning of the server as a sentence. */
export function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${message.endsWith(".") ? "" : "."}`;
}

/** The error that an answer tells; whatever a proxy on the way put in its place is `not_understood`. */
export function errorOf(response: Response, body: unknown): ApiError {
  const { message, code, param, details } = fieldsOf(fieldsOf(body)["error"]);
  const retryAfterSecs = secondsOf(response.headers.get("retry-after"));
  // Of a refused field: what it may be, in place of the words for all refusals.
  const [detail] = Array.isArray(details) ? details.map(fieldsOf).filter(({ path }) => path === param) : [];
  const text = textOf(detail?.["message"]) ?? textOf(message);
  if (text === null || text.length > MESSAGE_MAX_CHARACTERS || typeof code !== "string")
    return new ApiError(response.status, "not_understood", `HTTP ${response.status}`, { retryAfterSecs });
  return new ApiError(response.status, code, text, { param: textOf(param), retryAfterSecs });
}

function secondsOf(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : null;
}
