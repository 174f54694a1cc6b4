/** The codes with which the gateway closes a realtime session (docs/rules/realtime.md#close-codes). */
import type { GatewayError } from "../../../shared/errors.ts";

/** How a connection is closed. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

/** Longest reason of a closing frame, in bytes (RFC 6455 section 5.5). */
const REASON_MAX_BYTES = 123;

/** How the gateway closes for an error: the reason is its code. */
export function closingOf({ code, status }: Pick<GatewayError, "code" | "status">): Closing {
  return { code: codeOf(code, status), reason: code };
}

function codeOf(code: string, status: number): number {
  if (code === "realtime_session_expired" || code === "realtime_session_idle") return 1001;
  if (code === "request_too_large") return 1009;
  if (code === "gateway_stopping") return 1012;
  if (status === 429 || status === 503) return 1013;
  return status < 500 ? 1008 : 1011;
}

/** How the other side is closed when one has closed so. Some codes only say that none came, and are never sent. */
export function passedOn({ code, reason }: Closing): Closing {
  const bytes = new TextEncoder().encode(reason);
  const fits = bytes.byteLength <= REASON_MAX_BYTES ? reason : "";
  if (code === 1005) return { code: 1000, reason: fits };
  return code === 1006 || code === 1015 || code === 1004 || code < 1000 || code > 4999
    ? { code: 1001, reason: fits }
    : { code, reason: fits };
}
