/** Why a tool server gave no usable answer. */

interface FailureDetails {
  /** The server's own text about it: for the model, never for a log or an alert. */
  readonly message?: string;
  /** The server does not know the session any more. */
  readonly sessionLost?: boolean;
  readonly cause?: unknown;
}

export class ToolServerFailure extends Error {
  override readonly name = "ToolServerFailure";
  /** In the gateway's own words. */
  readonly reason: string;
  readonly said: string;
  readonly sessionLost: boolean;

  constructor(reason: string, { message = "", sessionLost = false, cause }: FailureDetails = {}) {
    super(reason, { cause });
    this.reason = reason;
    this.said = message;
    this.sessionLost = sessionLost;
  }
}
