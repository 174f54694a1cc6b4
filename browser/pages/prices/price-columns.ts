/** The prices of a model as a list has them: of a million tokens or characters, of an image, of a minute. Pure. */
import type { Records } from "../../data/api.ts";
import { formatPrice } from "../../ui/format.ts";

type Model = Records["Model"];

const MILLION = 1e6;
const MINUTE_SECS = 60;
const NANO = 1e9;

interface PriceColumn {
  readonly id: "input" | "cached" | "cacheWrite" | "output" | "reasoning" | "image" | "audio" | "characters";
  readonly of: keyof Records["Model"] & `${string}cost_per_${string}`;
  readonly times: number;
  /** What holds where none is set: such a price is part of another one. */
  readonly without?: "sameAsInput" | "sameAsOutput";
  readonly isExtra?: true;
}

export const PRICE_COLUMNS: readonly PriceColumn[] = [
  { id: "input", of: "input_cost_per_token", times: MILLION },
  { id: "cached", of: "cached_input_cost_per_token", times: MILLION, without: "sameAsInput" },
  { id: "cacheWrite", of: "cache_write_cost_per_token", times: MILLION, without: "sameAsInput", isExtra: true },
  { id: "output", of: "output_cost_per_token", times: MILLION },
  { id: "reasoning", of: "reasoning_output_cost_per_token", times: MILLION, without: "sameAsOutput", isExtra: true },
  { id: "image", of: "cost_per_image", times: 1 },
  { id: "audio", of: "input_cost_per_second", times: MINUTE_SECS },
  { id: "characters", of: "cost_per_character", times: MILLION, isExtra: true },
];

/** USD; null: none is set. A price of 0 is none, but of a part of the tokens it is one. */
export function priceOf(model: Model, { of, times, without }: PriceColumn): number | null {
  const price = model[of];
  if (price === null || (price === 0 && without === undefined)) return null;
  return Math.round(price * times * NANO) / NANO;
}

/** A dash where no price is set; of a part of the tokens the price that holds then, and why. */
export function priceCell(model: Model, column: PriceColumn) {
  const price = priceOf(model, column);
  const why = price === null ? (column.without ?? null) : null;
  const whole = PRICE_COLUMNS.find(({ id }) => id === (why === "sameAsInput" ? "input" : "output"));
  return { said: formatPrice(why === null || whole === undefined ? price : priceOf(model, whole)), why };
}

/** What part of the prices a line of a batch costs; 1: all of it. */
export const batchFactor = ({ batch_price_factor }: Model): number => batch_price_factor;
