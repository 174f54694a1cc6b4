/** A number as people write it. Pure. */

/** With more zeros behind the point a number is clearer by its power of ten. */
const DECIMALS_MAX = 15;

/** A price of 6e-7 as 0.0000006, to the last digit; what is smaller than any price stays as it is. */
export function numberText(value: number): string {
  const [, sign = "", whole = "", rest = "", power = ""] = /^(-?)(\d)(?:\.(\d+))?e-(\d+)$/.exec(String(value)) ?? [];
  const zeros = Number(power) - 1;
  return power === "" || zeros >= DECIMALS_MAX ? String(value) : `${sign}0.${"0".repeat(zeros)}${whole}${rest}`;
}
