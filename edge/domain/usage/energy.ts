/**
 * The share of the cluster's power that a request used (docs/rules/energy.md#readings): its share of one node's watts,
 * for as long as it held a slot. It is frozen in the row; a later reading or price does not change it.
 */
import type { UsageRow } from "../../../shared/usage/usage-row.ts";

/** The cost of energy. */
export interface EnergyTerms {
  readonly enabled: boolean;
  readonly usdPerKwh: number;
  readonly co2GramsPerKwh: number;
  /** Watts of the whole site per watt of the nodes. */
  readonly pue: number;
}

/** The power of all measured nodes together. */
export interface PowerReading {
  readonly clusterWatts: number;
  readonly nodeCount: number;
}

type EnergyUsed = Pick<UsageRow, "energy_wh" | "energy_cost_usd" | "co2_g">;

const NOTHING_USED: EnergyUsed = { energy_wh: 0, energy_cost_usd: 0, co2_g: 0 };
const MS_PER_HOUR = 3_600_000;

/**
 * The energy of a request that held one of a node's slots for `servedMs`; zero when any part is unknown, not a number, or
 * below 0.
 */
export function energyUsed(
  terms: EnergyTerms | null,
  reading: PowerReading | null,
  slotsPerNode: number,
  servedMs: number,
): EnergyUsed {
  if (terms === null || !terms.enabled || reading === null || slotsPerNode === 0) return NOTHING_USED;
  const wattsPerSlot = (reading.clusterWatts / reading.nodeCount / slotsPerNode) * terms.pue;
  const energyWh = (wattsPerSlot * Math.max(0, servedMs)) / MS_PER_HOUR;
  const used = {
    energy_wh: energyWh,
    energy_cost_usd: (energyWh / 1000) * terms.usdPerKwh,
    co2_g: (energyWh / 1000) * terms.co2GramsPerKwh,
  };
  return Object.values(used).every((figure) => Number.isFinite(figure) && figure >= 0) ? used : NOTHING_USED;
}
