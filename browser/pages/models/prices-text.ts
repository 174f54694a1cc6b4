/** The prices of a model's tokens in a few words (docs/rules/models.md#prices). Pure. */
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { formatPrice } from "../../ui/format.ts";

const text = texts("models", modelsTexts);

/** Of this many tokens people speak. */
const TOKENS = 1_000_000;

/** `$2.50` for the price of a token, to its last decimal; 0 is no price. */
const perMillion = (usdPerToken: number): string =>
  usdPerToken === 0 ? text("noPrice") : formatPrice(usdPerToken * TOKENS);

/** `$2.50 / $10.00`, in and out; a dash for a model without prices of tokens. */
export function pricesText(model: {
  readonly input_cost_per_token: number;
  readonly output_cost_per_token: number;
}): string {
  const { input_cost_per_token: input, output_cost_per_token: output } = model;
  return input === 0 && output === 0 ? text("free") : `${perMillion(input)} / ${perMillion(output)}`;
}
