/** A budget as a bar: what is used, what running requests have reserved, and what is left (docs/rules/budgets.md#usage-read). */
import { chartTexts } from "../messages/en/charts.ts";
import { texts } from "../messages/texts.ts";
import { classNames } from "../ui/class-names.ts";
import { formatShare } from "../ui/format.ts";
import classes from "./meter.module.css";
import { drawn } from "./numbers.ts";
import { barOf } from "./parts.ts";

const text = texts("charts", chartTexts);

/** From this part of the cap on a budget is nearly used up (docs/rules/budgets.md#alerts). */
const WARN_RATIO = 0.8;

interface MeterProps {
  /** What is measured, for those who do not see the bar. */
  readonly label: string;
  readonly used: number;
  readonly reserved: number;
  /** Null: no cap; the figures stand without a bar. */
  readonly cap: number | null;
  /** How amounts are written, with their unit. */
  readonly format: (amount: number) => string;
}

/**
 * The bar is as long as the cap; when more than the cap is used or reserved it is as long as that, with a mark where the cap
 * lies, so that 120 percent look like 120 percent.
 */
export function Meter({ label, used, reserved, cap, format }: MeterProps) {
  const amounts = { used, reserved };
  const bar = barOf(["used", "reserved"] as const, (part) => amounts[part], cap);
  const state = stateOf(used, reserved, cap);
  const rest =
    bar.beyond > 0
      ? { name: text("beyond"), value: format(bar.beyond), isBad: true }
      : cap === null
        ? { name: text("cap"), value: text("noCap"), isBad: false }
        : { name: text("left"), value: format(bar.left.value), isBad: false };
  const figures = [
    { name: text("used"), value: format(used), isBad: false },
    { name: text("reserved"), value: format(reserved), isBad: false },
    rest,
  ];
  const described =
    cap === null
      ? text("meterUncapped", { used: format(used), reserved: format(reserved) })
      : text("meterText", {
          used: format(used),
          reserved: format(reserved),
          cap: format(cap),
          share: shareOf(used, cap),
        });
  return (
    <div className={classes["meter"]}>
      {cap === null ? null : (
        <svg
          className={classNames(classes["bar"], classes[state])}
          viewBox="0 0 100 8"
          preserveAspectRatio="none"
          role="img"
        >
          <title>{`${label}: ${described}`}</title>
          <rect className={classes["track"]} x="0" y="0" width="100" height="8" />
          {bar.parts.map(({ of, from, length }) => (
            <rect key={of} className={classes[of]} x={from * 100} y="0" width={length * 100} height="8" />
          ))}
          {bar.beyond > 0 && bar.capAt !== null ? (
            <line className={classes["cap"]} x1={bar.capAt * 100} x2={bar.capAt * 100} y1="0" y2="8" />
          ) : null}
        </svg>
      )}
      <dl className={classes["figures"]}>
        {figures.map(({ name, value, isBad }) => (
          <div key={name}>
            <dt className={isBad ? classes["beyond"] : undefined}>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function stateOf(used: number, reserved: number, cap: number | null): "calm" | "near" | "over" {
  const limit = drawn(cap);
  if (limit === null) return "calm";
  const sum = (drawn(used) ?? 0) + (drawn(reserved) ?? 0);
  return sum >= limit ? "over" : sum >= limit * WARN_RATIO ? "near" : "calm";
}

/** What is used of the cap; a cap of 0 is used up (docs/rules/budgets.md#usage-read). */
function shareOf(used: number, cap: number): string {
  return formatShare(cap === 0 ? 1 : used / cap);
}
