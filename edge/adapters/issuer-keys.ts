/**
 * The published keys of one OIDC provider, in an isolate's memory (docs/rules/identities.md#provider-keys). They are
 * read again after 15 minutes, and when a token names a key that is not among them, at most once a minute. While the
 * provider does not answer, the last good set stays in use.
 */
import type { JSONWebKeySet } from "jose";
import { createLocalJWKSet } from "jose/jwks/local";
import type { JwtIssuer } from "../../shared/access/jwt-issuers.ts";
import { issues } from "../../shared/alerts.ts";
import type { Alerts, Clock, EventCounter } from "../ports.ts";
import { withStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

export type KeySet = ReturnType<typeof createLocalJWKSet>;

const FRESH_MS = 15 * 60 * 1000;
/**
 * After a failed read, or a read without the wanted key, the provider is not called again for this long while there is a
 * set to use.
 */
const RETRY_MS = 60_000;
/** The same time when there is no set yet: every token waits for one. */
const RETRY_WITHOUT_SET_MS = 1000;
/** Longer than a read may take: a read that has not ended by then was cut off with its request. */
const JOIN_MS = 11_000;

interface IssuerKeysOptions {
  readonly index: number;
  readonly issuer: JwtIssuer;
  /** Reads the provider's key set. Rejects with KeysUnreadable. */
  readonly load: (url: string) => Promise<JSONWebKeySet>;
  readonly clock: Clock;
  /** Lets a read continue after the request that started it has ended. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly alerts: Alerts;
  readonly events: EventCounter;
}

/** Why a key set could not be read; the message is for operators, in the gateway's own words. */
export class KeysUnreadable extends Error {
  override readonly name = "KeysUnreadable";
}

export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #set: KeySet | null = null;
  #readMs = Number.NEGATIVE_INFINITY;
  #triedMs = Number.NEGATIVE_INFINITY;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #flight: Promise<void> | null = null;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** The keys to verify with; null while no set was ever read. */
  async current(): Promise<KeySet | null> {
    const nowMs = this.#options.clock();
    const quietMs = this.#set === null ? RETRY_WITHOUT_SET_MS : RETRY_MS;
    const fresh = this.#set !== null && nowMs - this.#readMs < FRESH_MS;
    if (this.#flight !== null ? this.#set === null : !fresh && nowMs - this.#triedMs >= quietMs) await this.#read();
    return this.#set;
  }

  /** To be called when a token names a key that is not in the set. True when the set was read again since. */
  async refresh(): Promise<boolean> {
    const nowMs = this.#options.clock();
    if (this.#flight === null) {
      if (nowMs - this.#renewedMs < RETRY_MS) return false;
      this.#renewedMs = nowMs;
    }
    await this.#read();
    return true;
  }

  /** Reads the set, once at a time; concurrent callers wait for the same read. Never rejects. */
  async #read(): Promise<void> {
    if (this.#flight !== null && (await withStallTolerantTimeout(this.#flight, JOIN_MS)) !== null) return;
    const flight = this.#load();
    this.#flight = flight;
    this.#options.keepAlive(flight);
    await flight;
    if (this.#flight === flight) this.#flight = null;
  }

  async #load(): Promise<void> {
    const { index, issuer, load, clock, alerts, events } = this.#options;
    const count = (result: "ok" | "error"): void =>
      events.count({ metric: "gateway_jwks_refresh_total", labels: [String(index), result] });
    this.#triedMs = clock();
    try {
      this.#set = createLocalJWKSet(await load(issuer.jwks_url));
      this.#readMs = clock();
      count("ok");
    } catch (error) {
      const reason = error instanceof KeysUnreadable ? error.message : "not a key set";
      alerts.raise(issues.jwksFetchFailed(index, issuer.issuer, reason));
      count("error");
    }
  }
}
