/** Names and values of a record's fields as people read them. */
import { isRateField } from "../../../shared/fields/rates.ts";
import { fieldTexts } from "../../messages/en/fields.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { formatBytes, formatMs } from "../../ui/format.ts";
import { perMillionOf, perMillionText } from "./per-million.ts";

const text = texts("fields", fieldTexts);

type FieldText = keyof typeof fieldTexts;
const isText = (id: string): id is FieldText => Object.hasOwn(fieldTexts, id);

const INSTANT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const SHOWN_MAX = 300;

/** The name of a field; one without a text of its own is called as the API calls it, in words. */
export function fieldLabel(name: string): string {
  if (isText(name)) return text(name);
  const of = perMillionOf(name);
  if (of !== null)
    return text(of === "token" ? "perMillionTokens" : "perMillionCharacters", {
      what: wordsOf(name.replace(/_per_\w+$/, "")),
    });
  return wordsOf(name);
}

function wordsOf(name: string): string {
  const words = name.replaceAll("_", " ").trim();
  return words === "" ? name : `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

/** A span of time or a size in its usual unit: 900 of `check_interval_secs` is "15 min"; undefined: the field is neither. */
export function quantityText(name: string, value: number): string | undefined {
  const unit = value > 0 ? /_(secs|s|ms|bytes)$/.exec(name)?.[1] : undefined;
  if (unit === undefined) return undefined;
  return unit === "bytes" ? formatBytes(value) : formatMs(unit === "ms" ? value : value * 1000);
}

/** What one should know before typing; undefined: the name says enough. */
export function fieldHint(name: string): string | undefined {
  const id = `${name}_hint`;
  return isText(id) ? text(id) : undefined;
}

/** The name of a choice; empty for none. */
export function choiceLabel(choice: string): string {
  const id = choice === "" ? "choice_none" : `choice_${choice}`;
  return isText(id) ? text(id) : choice;
}

/** What a hint says of a value that stands for none: `No limit`. */
function meaningOf(name: string, value: unknown): string | undefined {
  const isEmpty = value === null || (value === 0 && isRateField(name));
  const says = isEmpty ? / empty for ([^.,]+)/ : value === 0 ? /\b0 means ([^.,]+)/ : null;
  const meaning = says?.exec(` ${fieldHint(name) ?? ""}`)?.[1];
  return meaning && `${meaning[0]?.toUpperCase()}${meaning.slice(1)}`;
}

/**
 * The value of a field in one line: times by the zone's clock, lists with commas, at most 300 characters. A missing value is a
 * dash, unless the field's hint says what it means.
 */
export function valueText(name: string, value: unknown, zone: string): string {
  const meaning = meaningOf(name, value);
  if (meaning !== undefined) return meaning;
  if (value === null || value === undefined) return text("unknown");
  if (typeof value === "boolean") return text(value ? "yes" : "no");
  if (typeof value === "number" && perMillionOf(name) !== null) return perMillionText(value);
  if (value === "") return text("emptyText");
  if (typeof value === "string" && INSTANT.test(value)) return formatInstant(zone, instantOf(value));
  const said =
    Array.isArray(value) && value.every((item) => typeof item === "string")
      ? value.join(", ")
      : typeof value === "string"
        ? value
        : JSON.stringify(value);
  return said.length > SHOWN_MAX ? `${said.slice(0, SHOWN_MAX)}…` : said === "" ? text("unknown") : said;
}
