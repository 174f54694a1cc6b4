/**
 * Energy accounting over the key-value store. Its terms are read through the directory, so that a change is applied like a
 * change of any setting. The last reading is kept as long as the shortest polling interval. While the store is down the
 * known values stay in use.
 */

import { type SettingsRecord, storeKeys } from "../../shared/records.ts";
import { energyReadingSchema, energyValueSchema } from "../../shared/schema/settings/energy-value.ts";
import type { PowerReading } from "../domain/usage/energy.ts";
import type { Clock, Directory, Energy, KnownTerms } from "../ports.ts";
import type { RedisClient } from "./redis-client.ts";

const FRESH_MS = 5000;

export class RedisEnergy implements Energy {
  readonly #directory: Pick<Directory, "settings">;
  readonly #client: Pick<RedisClient, "run">;
  readonly #clock: Clock;
  /** The parsed form of the record that was read last: every request of a participating model needs it. */
  #parsed: { readonly record: SettingsRecord; readonly known: KnownTerms } | null = null;
  #known: PowerReading | null = null;
  /** Until this time the known reading is used without reading the store, epoch ms. */
  #freshUntilMs = 0;

  constructor(directory: Pick<Directory, "settings">, client: Pick<RedisClient, "run">, clock: Clock) {
    this.#directory = directory;
    this.#client = client;
    this.#clock = clock;
  }

  async terms(): Promise<KnownTerms | null> {
    const found = await this.#directory.settings("energy").catch(() => null);
    if (found === null) return null;
    const { record } = found;
    if (record !== this.#parsed?.record) this.#parsed = { record, known: termsOf(record) };
    return this.#parsed.known;
  }

  /** One caller reads the store; concurrent callers get the reading that is known, if any. */
  async reading(): Promise<PowerReading | null> {
    const nowMs = this.#clock();
    if (nowMs < this.#freshUntilMs) return this.#known;
    if (this.#known !== null) this.#freshUntilMs = nowMs + FRESH_MS;
    try {
      const text = await this.#client.run(async (redis) => await redis.get<string>(storeKeys.energyReading));
      const read = text === null ? null : energyReadingSchema.parse(JSON.parse(text));
      this.#known = read === null ? null : { clusterWatts: read.cluster_watts, nodeCount: read.node_count };
      this.#freshUntilMs = nowMs + FRESH_MS;
    } catch {
      // the known reading stays in use
    }
    return this.#known;
  }
}

function termsOf({ value, rev }: SettingsRecord): KnownTerms {
  const parsed = energyValueSchema.safeParse(value);
  if (!parsed.success) return { terms: null, rev };
  const { enabled, energy_cost_per_kwh, carbon_g_per_kwh, pue } = parsed.data;
  return { terms: { enabled, usdPerKwh: energy_cost_per_kwh, co2GramsPerKwh: carbon_g_per_kwh, pue }, rev };
}
