/** What calling a model costs, as one line (docs/rules/models.md#prices). Pure. A price of 0 is one that nobody has set: a dash. */
import type { Records } from "../../data/api.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { formatPrice } from "../../ui/format.ts";

const text = texts("portal", portalTexts);
const MILLION = 1e6;
const MINUTE_SECS = 60;

/** The prices of parts of the tokens, each with its text. */
const PARTS = {
  cached_input_cost_per_token: "perCached",
  cache_write_cost_per_token: "perCacheWrite",
  reasoning_output_cost_per_token: "perReasoning",
  audio_input_cost_per_token: "perAudioIn",
  audio_output_cost_per_token: "perAudioOut",
  image_input_cost_per_token: "perImageIn",
  image_output_cost_per_token: "perImageOut",
} as const;
type Part = keyof typeof PARTS;

type Priced = Pick<
  Records["Model"],
  | "model_type"
  | "input_cost_per_token"
  | "output_cost_per_token"
  | Part
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
  const [input, output] = [model.input_cost_per_token, model.output_cost_per_token].map((usd) =>
    usd > 0 ? usd * MILLION : null,
  );
  const perTokens =
    input === null && output === null
      ? null
      : text("perTokens", { input: formatPrice(input), output: formatPrice(output) });
  // Of a part of the tokens 0 is a price: one that is not set is null.
  const ofPart = ([name, id]: [string, (typeof PARTS)[Part]]): string | null => {
    const usd = model[name as Part];
    return usd !== null && usd >= 0 ? text(id, { usd: formatPrice(usd * MILLION) }) : null;
  };
  const one = (usd: number, factor: number, id: "perMinute" | "perImage" | "perCharacters"): string | null =>
    usd > 0 ? text(id, { usd: formatPrice(usd * factor) }) : null;
  const parts = [
    perTokens,
    ...Object.entries(PARTS).map(ofPart),
    one(model.input_cost_per_second, MINUTE_SECS, "perMinute"),
    one(model.cost_per_character, MILLION, "perCharacters"),
    one(model.cost_per_image, 1, "perImage"),
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(", ");
}
