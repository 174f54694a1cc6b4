/**
 * What follows a wrong admin or internal token (docs/rules/authentication.md#wrong-tokens): it is counted, reported by log
 * and alert, and answered late, so that guessing is slow and seen. Requests with the right token are not delayed.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "hono";
import { AuthFailures, REFUSED_AFTER_MS } from "../../shared/access/auth-failures.ts";
import { issues } from "../../shared/alerts.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import { type AlertSink, raisedNow } from "../kernel/alert-sink.ts";
import type { Logger } from "../kernel/log.ts";
import type { TrustedProxies } from "../kernel/trusted-proxies.ts";
import { clientAddress } from "./client-address.ts";

/** What {@link AuthFailureHandler} needs. */
interface AuthRefusalsOptions {
  readonly log: Logger;
  readonly sink: AlertSink;
  /** The control service's own cell, which its alerts name. */
  readonly cell: string;
  readonly proxies: TrustedProxies;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

export class AuthRefusals {
  readonly #options: AuthRefusalsOptions;
  readonly #sleep: (ms: number) => Promise<unknown>;
  readonly #failures = new AuthFailures();
  #total = 0;

  constructor(options: AuthRefusalsOptions) {
    this.#options = options;
    this.#sleep = options.sleep ?? (async (ms) => await delay(ms));
  }

  /** Wrong tokens since the start. */
  get total(): number {
    return this.#total;
  }

  /**
   * Resolves when the request may be refused. A request without a credential guesses nothing: it is refused at once and not
   * counted. Never rejects.
   */
  async refuse(c: Context): Promise<void> {
    if (c.req.header("authorization") === undefined) return;
    this.#total += 1;
    this.#report(clientAddress(c, this.#options.proxies) ?? "unknown");
    await this.#sleep(REFUSED_AFTER_MS);
  }

  #report(address: string): void {
    const { log, sink, cell, now } = this.#options;
    const { line, alert } = this.#failures.note(address, now());
    if (line !== null) log.warn({ event: "auth_failed", plane: "admin", address, failures: line.failures });
    if (alert === null) return;
    const issue = issues.adminAuthFailures(alert.failures, alert.addresses);
    void sink.take([raisedNow(issue, now(), cell)]).catch((error: unknown) => {
      log.warn({ event: "alert_lost", key: issue.issueKey, reason: rootCause(error) });
    });
  }
}
