/** The gateway's configuration as the model makes and changes it through the Management API, and what it has made so far. */
import { setTimeout as pause } from "node:timers/promises";
import type { Gateway } from "../harness/gateway.ts";
import type { Dice } from "./dice.ts";
import {
  type Budget,
  type Key,
  type Model,
  type ModelConfig,
  type Owner,
  type Rates,
  type TenantFacts,
  Versions,
} from "./facts.ts";

const PRICE_USD = 1e-6;
/** A row is dated by its end, which may be so much later than its client saw it. */
const ENDED_MS = 200;

/** Prices from nothing to some dollars a million tokens, whole nano-USD. */
export function randomPrices(dice: Dice) {
  const price = (): number => dice.pick([0, 1, 3, 7, 50]) * PRICE_USD;
  return {
    input_cost_per_token: price(),
    output_cost_per_token: price(),
    cached_input_cost_per_token: dice.pick([null, 0, PRICE_USD]),
    reasoning_output_cost_per_token: dice.pick([null, 2 * PRICE_USD]),
    cache_write_cost_per_token: dice.pick([null, 0, 1.25 * PRICE_USD]),
    audio_input_cost_per_token: dice.pick([null, 32 * PRICE_USD]),
    audio_output_cost_per_token: dice.pick([null, 64 * PRICE_USD]),
    image_input_cost_per_token: dice.pick([null, 10 * PRICE_USD]),
    image_output_cost_per_token: dice.pick([null, 0, 40 * PRICE_USD]),
    cost_per_image: dice.pick([0, 0.04]),
    cost_per_character: dice.pick([0, 0.000015]),
    input_cost_per_second: dice.pick([0, 0.0001]),
  };
}

const NO_RATES: Rates = { tokens: 0, requests: 0 };
const rateFields = ({ tokens, requests }: Rates) => ({ tokens_per_minute: tokens, requests_per_minute: requests });

export class ModelWorld {
  readonly tenants: TenantFacts[] = [];
  readonly keys: Key[] = [];
  readonly models: Model[] = [];
  readonly #gateway: Gateway;
  readonly #upstreamUrl: string;
  readonly #mark: string;
  #names = 0;

  /** `mark` is in every name. */
  constructor(gateway: Gateway, upstreamUrl: string, mark: string) {
    this.#gateway = gateway;
    this.#upstreamUrl = upstreamUrl;
    this.#mark = mark;
  }

  #next(): number {
    this.#names += 1;
    return this.#names;
  }

  async tenant(
    has: { readonly weight?: number; readonly rates?: Rates; readonly allowed?: readonly string[] } = {},
  ): Promise<TenantFacts> {
    const name = `${this.#mark} tenant ${this.#next()}`;
    const { weight = 100, rates = NO_RATES, allowed = null } = has;
    const body = { name, weight, ...rateFields(rates) };
    const { id } = await this.#gateway.must<{ readonly id: string }>("POST", "/tenants", body);
    if (allowed !== null) await this.#gateway.must("PATCH", `/tenants/${id}/allowlist`, { allowed_models: allowed });
    const tenant: TenantFacts = {
      id,
      kind: "tenant",
      name,
      weight: new Versions(weight),
      status: new Versions<"active" | "suspended">("active"),
      allowed,
      budgets: [],
      rates: [{ atMs: 0, rates }],
    };
    this.tenants.push(tenant);
    return tenant;
  }

  async key(tenant: TenantFacts, rates = NO_RATES): Promise<Key> {
    const name = `${this.#mark} key ${this.#next()}`;
    const made = await this.#gateway.must<{
      readonly key: { readonly id: string; readonly key_prefix: string };
      readonly secret: string;
    }>("POST", `/tenants/${tenant.id}/keys`, { name, ...rateFields(rates) });
    const key: Key = {
      id: made.key.id,
      kind: "key",
      tenant,
      name,
      prefix: made.key.key_prefix,
      secret: made.secret,
      disabled: new Versions(false),
      budgets: [],
      rates: [{ atMs: 0, rates }],
    };
    this.keys.push(key);
    return key;
  }

  async model(has: Partial<ModelConfig> & { readonly max_in_flight?: number } = {}): Promise<Model> {
    const name = `${this.#mark.replaceAll(" ", "-")}-model-${this.#next()}`;
    const config: ModelConfig = {
      enabled: true,
      api_dialect: "openai",
      upstream_model: `upstream-of-${name}`,
      cache_enabled: false,
      max_retries: 0,
      request_timeout_secs: null,
      input_cost_per_token: 0,
      output_cost_per_token: 0,
      cached_input_cost_per_token: null,
      reasoning_output_cost_per_token: null,
      cache_write_cost_per_token: null,
      audio_input_cost_per_token: null,
      audio_output_cost_per_token: null,
      image_input_cost_per_token: null,
      image_output_cost_per_token: null,
      cost_per_image: 0,
      cost_per_character: 0,
      input_cost_per_second: 0,
      ...has,
    };
    const body = {
      model_name: name,
      api_base: this.#upstreamUrl,
      retry_backoff_ms: 10,
      cache_ttl_secs: 86_400,
      ...config,
      ...has,
    };
    const { id } = await this.#gateway.must<{ readonly id: string }>("POST", "/models", body);
    const model = { id, name, config: new Versions(config) };
    this.models.push(model);
    return model;
  }

  async changeModel({ id, config }: Model, change: Partial<ModelConfig>): Promise<void> {
    const next = { ...config.now, ...change };
    const { cache_enabled: _cache, max_retries: _retries, request_timeout_secs: _timeout, ...fields } = next;
    await config.change(next, async () =>
      this.#gateway.must("PUT", `/models/${id}`, { ...fields, api_base: this.#upstreamUrl }),
    );
  }

  async changeWeight({ id, weight }: TenantFacts, next: number): Promise<void> {
    await weight.change(next, async () => this.#gateway.must("PATCH", `/tenants/${id}/weight`, { weight: next }));
  }

  async changeStatus({ id, status }: TenantFacts, next: "active" | "suspended"): Promise<void> {
    await status.change(next, async () => this.#gateway.must("PATCH", `/tenants/${id}/status`, { status: next }));
  }

  async changeDisabled({ id, disabled }: Key, next: boolean): Promise<void> {
    await disabled.change(next, async () => this.#gateway.must("PUT", `/keys/${id}/disabled`, { disabled: next }));
  }

  /** Sets limits per minute. No call of the owner may be under way. */
  async changeRates(owner: Owner, rates: Rates): Promise<void> {
    const atMs = Date.now();
    if (owner.kind === "tenant") await this.#gateway.must("PUT", `/tenants/${owner.id}/quota`, rateFields(rates));
    else await this.#gateway.must("PUT", `/keys/${owner.id}`, rateFields(rates));
    owner.rates.push({ atMs, rates });
  }

  /** Sets caps. No call of the owner may be under way. A new period begins at 0, once its second has come. */
  async changeBudget(owner: Owner, budget: Budget, isNewPeriod = false): Promise<void> {
    // Periods differ by the second in which they begin (docs/rules/budgets.md#term-budgets).
    const lastMs = owner.budgets.reduce((last, { startsMs }) => Math.max(last, startsMs), 0);
    const nextMs = Math.ceil((Date.now() + ENDED_MS) / 1000) * 1000;
    const startsMs = isNewPeriod ? Math.max(nextMs, lastMs + 1000) : lastMs;
    await pause(Math.max(0, startsMs - Date.now()));
    const started = isNewPeriod ? { budget_started_at: new Date(startsMs).toISOString() } : {};
    const body = {
      budget_tokens: budget.tokens,
      budget_cost_usd: budget.costUsd,
      budget_period: "lifetime",
      ...started,
    };
    const atMs = Date.now();
    if (owner.kind === "tenant") await this.#gateway.must("PATCH", `/tenants/${owner.id}/budget`, body);
    else await this.#gateway.must("PUT", `/keys/${owner.id}`, body);
    const period = owner.budgets.at(-1)?.period ?? 0;
    owner.budgets.push({ atMs, budget, period: isNewPeriod ? period + 1 : period, startsMs });
  }
}
