/**
 * Prices that the API has for one token or character, as people speak of them: for a million (docs/rules/models.md#prices). The
 * decimal point is moved in the text, so that no digit changes. Pure.
 */
import { numberText } from "./number-text.ts";

const NAME = /cost_per_(token|character)$/;
const POWER = 6;

/** Of what a price of this field is typed and shown for a million; null: the field is no such price. */
export function perMillionOf(name: string): "token" | "character" | null {
  const [, of] = NAME.exec(name) ?? [];
  return of === "token" || of === "character" ? of : null;
}

/** A price of one as that of a million: `0.15` for 1.5e-7. */
export function perMillionText(perOne: number): string {
  return numberText(moved(String(perOne), POWER));
}

/** The price of one, of a text that is a number. */
export function perOneOf(perMillion: string): number {
  return moved(perMillion, -POWER);
}

function moved(text: string, power: number): number {
  const [digits = "", exponent = "0"] = text.toLowerCase().split("e");
  return Number(`${digits}e${Number(exponent) + power}`);
}
