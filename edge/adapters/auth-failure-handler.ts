/**
 * What follows a wrong internal token at a Worker (docs/rules/authentication.md#wrong-tokens): it is counted, reported,
 * and refused after a delay, so that guessing is slow and noticed.
 */

import { AuthFailures, REFUSED_AFTER_MS } from "../../shared/access/auth-failures.ts";
import { issues } from "../../shared/alerts.ts";
import type { Alerts, Clock, EventCounter, Log, Sleep } from "../ports.ts";

/** What {@link AuthFailureHandler} needs. */
interface AuthFailureHandlerOptions {
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly alerts: Alerts;
  readonly events: EventCounter;
  readonly log: Log;
}

export class AuthFailureHandler {
  readonly #options: AuthFailureHandlerOptions;
  readonly #failures = new AuthFailures();

  constructor(options: AuthFailureHandlerOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the request may be refused: at once for a request without a credential, since that is no attempt to guess
   * one.
   */
  async refuse(request: Request): Promise<void> {
    if (!request.headers.has("authorization")) return;
    const { clock, sleep, alerts, events, log } = this.#options;
    const address = addressOf(request);
    events.count({ metric: "gateway_auth_failures_total", labels: ["data"] });
    const { line, alert } = this.#failures.note(address, clock());
    if (line !== null) log.event("auth_failed", { plane: "data", address, failures: line.failures });
    if (alert !== null) alerts.raise(issues.adminAuthFailures(alert.failures, alert.addresses));
    await sleep(REFUSED_AFTER_MS, request.signal);
  }
}

/**
 * The client's address. Only the platform knows it, and states it in a header that clients cannot set; elsewhere any client
 * could set the header.
 */
function addressOf(request: Request): string {
  const isOnPlatform = (request as { readonly cf?: unknown }).cf !== undefined;
  return (isOnPlatform ? request.headers.get("cf-connecting-ip") : null) ?? "unknown";
}
