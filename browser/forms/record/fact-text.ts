/** The value of a field where it is read, not typed: numbers in groups of digits, choices by their names. */
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatPrice } from "../../ui/format.ts";
import { choiceLabel, valueText } from "./field-words.ts";
import { perMillionOf } from "./per-million.ts";

const text = texts("fields", fieldTexts);

const CHOICES: ReadonlySet<string> = new Set([
  "model_type",
  "api_dialect",
  "responses_api",
  "auth_scheme",
  "endpoint_selection_mode",
  "capacity_mode",
  "budget_period",
  "end_user_budget_period",
]);

const PRICE = /cost_per_/;

/** In one line; a dash for what is empty. */
export function factText(name: string, value: unknown, zone: string): string {
  if (value === "") return text("unknown");
  if (typeof value === "string" && CHOICES.has(name)) return choiceLabel(value);
  if (name === "fallback_on" && Array.isArray(value)) return value.map(String).map(choiceLabel).join(", ");
  if (typeof value === "number" && value > 0 && PRICE.test(name))
    return formatPrice(Number(valueText(name, value, zone)));
  if (typeof value === "number" && Number.isInteger(value) && perMillionOf(name) === null) return formatCount(value);
  return valueText(name, value, zone);
}
