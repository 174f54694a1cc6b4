/** What calling a model costs, as one line (docs/rules/models.md#prices). Pure. A price of 0 is one that nobody has set. */
import type { Records } from "../../data/api.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { formatPrice } from "../../ui/format.ts";

const text = texts("portal", portalTexts);
const MILLION = 1e6;
const MINUTE_SECS = 60;

/** Parts of the tokens that can have a price. */
const PARTS = [
  "cached_input",
  "cache_write",
  "reasoning_output",
  "audio_input",
  "audio_output",
  "image_input",
  "image_output",
] as const;

type Priced = Pick<
  Records["Model"],
  | "model_type"
  | "input_cost_per_token"
  | "output_cost_per_token"
  | `${(typeof PARTS)[number]}_cost_per_token`
  | "input_cost_per_second"
  | "cost_per_image"
  | "cost_per_character"
>;

/** The price by which models are put in order, USD; null: none is set. */
export function mainPriceUsd(model: Priced): number | null {
  const price = [
    model.input_cost_per_token * MILLION,
    model.output_cost_per_token * MILLION,
    model.input_cost_per_second * MINUTE_SECS,
    model.cost_per_character * MILLION,
    model.cost_per_image,
  ].find((usd) => usd > 0);
  return price ?? null;
}

/** Every price that is set, with its unit; null: none is. */
export function priceText(model: Priced): string | null {
  const perMillion = (usd: number): number | null => (usd > 0 ? usd * MILLION : null);
  const input = perMillion(model.input_cost_per_token);
  const output = perMillion(model.output_cost_per_token);
  const perPart = (usd: number, part: string): string => text("perPart", { usd: formatPrice(usd), part });
  // Only models that answer with text have a price for output.
  const ofSide = (usd: number | null, part: string): string | null =>
    usd === null ? (model.model_type === "chat" ? text("noPricePart", { part }) : null) : perPart(usd, part);
  const perTokens =
    input === null && output === null
      ? []
      : input === null || output === null
        ? [ofSide(input, "input"), ofSide(output, "output")]
        : [text("perTokens", { input: formatPrice(input), output: formatPrice(output) })];
  // Of a part of the tokens 0 is a price: one that is not set is null.
  const ofPart = (name: (typeof PARTS)[number]): string | null => {
    const usd = model[`${name}_cost_per_token`];
    return usd !== null && usd >= 0 ? perPart(usd * MILLION, name.replace("_", " ")) : null;
  };
  const one = (usd: number, factor: number, id: "perMinute" | "perImage" | "perCharacters"): string | null =>
    usd > 0 ? text(id, { usd: formatPrice(usd * factor) }) : null;
  const parts = [
    ...perTokens,
    ...PARTS.map(ofPart),
    one(model.input_cost_per_second, MINUTE_SECS, "perMinute"),
    one(model.cost_per_character, MILLION, "perCharacters"),
    one(model.cost_per_image, 1, "perImage"),
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(", ");
}
