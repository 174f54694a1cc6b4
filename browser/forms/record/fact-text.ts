/** The value of a field where it is read, not typed: numbers in groups of digits, choices by their names. */
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatPrice } from "../../ui/format.ts";
import { choiceLabel, fieldLabel, quantityText, valueText } from "./field-words.ts";
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
  "role",
  "status",
]);

const PORT = /port$/;
const PRICE = /cost_per_/;

const UNIT = / \((?:s|ms|bytes)\)$/;

/** The name of a field whose value is shown with its unit. */
export function factLabel(name: string): string {
  return fieldLabel(name).replace(UNIT, "");
}

/** In one line; for what is empty a dash, or `emptyText`. */
export function factText(name: string, value: unknown, zone: string, emptyText = text("unknown")): string {
  if (value === "") return emptyText;
  if (typeof value === "string" && CHOICES.has(name)) return choiceLabel(value);
  if (name === "fallback_on" && Array.isArray(value)) return value.map(String).map(choiceLabel).join(", ");
  if (typeof value === "number" && value > 0 && PRICE.test(name))
    return formatPrice(Number(valueText(name, value, zone)));
  const quantity = typeof value === "number" ? quantityText(name, value) : undefined;
  if (quantity !== undefined) return quantity;
  if (
    typeof value === "number" &&
    Number.isInteger(value) &&
    value !== 0 &&
    !PORT.test(name) &&
    perMillionOf(name) === null
  )
    return formatCount(value);
  return valueText(name, value, zone);
}
