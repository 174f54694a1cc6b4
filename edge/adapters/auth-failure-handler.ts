/**
 * What follows a wrong internal token at a Worker (decisions §43.5): it is counted, told of, and answered late, so that
 * guessing is slow and seen.
 */
import { issues } from "../../shared/alerts.ts";
import { AuthFailures, REFUSED_AFTER_MS } from "../../shared/auth-failures.ts";
import type { Alerts, Clock, EventCounter, Log, Sleep } from "../ports.ts";

/** What {@link AuthFailureHandler} needs. */
interface AuthFailureHandlerOptions {
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly alerts: Alerts;
  readonly tallies: EventCounter;
  readonly log: Log;
}

export class AuthFailureHandler {
  readonly #options: AuthFailureHandlerOptions;
  readonly #failures = new AuthFailures();

  constructor(options: AuthFailureHandlerOptions) {
    this.#options = options;
  }

  /** Resolves when the request may be refused; at once for one without a credential, which guesses nothing. */
  async refuse(request: Request): Promise<void> {
    if (!request.headers.has("authorization")) return;
    const { clock, sleep, alerts, tallies, log } = this.#options;
    const address = addressOf(request);
    tallies.count({ metric: "gateway_auth_failures_total", labels: ["data"] });
    const { line, alert } = this.#failures.note(address, clock());
    if (line !== null) log.event("auth_failed", { plane: "data", address, failures: line.failures });
    if (alert !== null) alerts.raise(issues.adminAuthFailures(alert.failures, alert.addresses));
    await sleep(REFUSED_AFTER_MS, request.signal);
  }
}

/** Only the platform knows the peer, and says so in a header that a client cannot set; elsewhere the header is anybody's. */
function addressOf(request: Request): string {
  const isOnPlatform = (request as { readonly cf?: unknown }).cf !== undefined;
  return (isOnPlatform ? request.headers.get("cf-connecting-ip") : null) ?? "unknown";
}
