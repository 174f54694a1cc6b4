/**
 * The reaction to a wrong internal token at a Worker (docs/rules/authentication.md#wrong-tokens): it is counted, reported, and
 * refused after a delay, so that guessing is slow and noticed.
 */

import { AuthFailures, REFUSED_AFTER_MS } from "../../shared/access/auth-failures.ts";
import { issues } from "../../shared/alerts.ts";
import { clientAddress } from "../domain/request/refused-caller.ts";
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
   * Resolves when the request may be refused: at once for a request without a credential, because that is not an attempt to
   * guess one.
   */
  async refuse(request: Request): Promise<void> {
    if (!request.headers.has("authorization")) return;
    const { clock, sleep, alerts, events, log } = this.#options;
    const who = clientAddress(request);
    events.count({ metric: "gateway_auth_failures_total", labels: ["data"] });
    const { line, alert } = this.#failures.note(who.address ?? who.peer?.replace(/:\d+$/, "") ?? "unknown", clock());
    if (line !== null)
      log.event("auth_failed", {
        plane: "data",
        ...(who.peer === undefined ? { address: "unknown" } : {}),
        ...who,
        failures: line.failures,
      });
    if (alert !== null) alerts.raise(issues.adminAuthFailures(alert.failures, alert.addresses));
    await sleep(REFUSED_AFTER_MS, request.signal);
  }
}
