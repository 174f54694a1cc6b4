/** What the console's server refused, or that it could not be asked (docs/rules/console.md#errors). */
import * as z from "zod/mini";

const bodySchema = z.object({
  error: z.object({
    message: z.string().check(z.maxLength(4000)),
    code: z.string().check(z.maxLength(200)),
    param: z.optional(z.nullable(z.string().check(z.maxLength(400)))),
  }),
});

/** Codes of failures that have no answer. */
export type UnansweredCode = "unreachable" | "not_understood";

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status; 0: there was no answer. */
  readonly status: number;
  /** Of the error table, or an {@link UnansweredCode}. */
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

  /** True when the same request may succeed later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The error that an answer tells; whatever a proxy on the way put in its place is `not_understood`. */
export function errorOf(response: Response, body: unknown): ApiError {
  const parsed = bodySchema.safeParse(body);
  const retryAfterSecs = secondsOf(response.headers.get("retry-after"));
  if (!parsed.success)
    return new ApiError(response.status, "not_understood", `HTTP ${response.status}`, { retryAfterSecs });
  const { message, code, param } = parsed.data.error;
  return new ApiError(response.status, code, message, { param: param ?? null, retryAfterSecs });
}

function secondsOf(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : null;
}
