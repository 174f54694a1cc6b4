import { formatCount, formatEnergy, formatMass, formatShortCount, formatUsd } from "../../ui/format.ts";

/** The figures that tiles and chart show, and how. `field`: of a row of GET /costs/daily. */
export const SHOWN = [
  { id: "cost", figure: "costUsd", field: "cost_usd", format: formatUsd, axis: formatUsd },
  { id: "tokens", figure: "tokens", field: "total_tokens", format: formatCount, axis: formatShortCount },
  { id: "requests", figure: "requests", field: "requests", format: formatCount, axis: formatShortCount },
  { id: "energy", figure: "energyWh", field: "energy_wh", format: formatEnergy, axis: formatEnergy },
  { id: "carbon", figure: "co2Grams", field: "co2_g", format: formatMass, axis: formatMass },
] as const;
export type Shown = (typeof SHOWN)[number];
