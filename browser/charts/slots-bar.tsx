/** Who holds the slots of a cell now. */
import { chartTexts } from "../messages/en/charts.ts";
import { texts } from "../messages/texts.ts";
import { formatCount } from "../ui/format.ts";
import { type SlotsSource, slotsBar } from "./slots.ts";
import classes from "./slots-bar.module.css";

const text = texts("charts", chartTexts);

/** The slots in use by group (colour) and tenant (divisions of it), what is free, and a legend with the same figures. */
export function SlotsBar({
  live,
  colorOf,
}: {
  readonly live: SlotsSource;
  /** By the name of the group; null: lines of batches. */
  readonly colorOf: (group: string | null) => string;
}) {
  const bar = slotsBar(live);
  const inUse = bar.parts.reduce((sum, { value }) => sum + value, 0);
  const groups = new Map<string | null, number>();
  for (const { of, value } of bar.parts) groups.set(of.group, (groups.get(of.group) ?? 0) + value);
  const described = text("slotsText", { inFlight: formatCount(inUse), capacity: formatCount(live.max_in_flight) });
  return (
    <figure className={classes["slots"]}>
      <svg className={classes["bar"]} viewBox="0 0 100 20" preserveAspectRatio="none" role="img">
        <title>{described}</title>
        <rect className={classes["free"]} x="0" y="0" width="100" height="20" />
        {bar.parts.map(({ of, value, from, length }) => (
          <rect
            key={`${of.group ?? ""} ${of.tenant ?? ""}`}
            className={classes["part"]}
            x={from * 100}
            y="0"
            width={length * 100}
            height="20"
            style={{ fill: colorOf(of.group) }}
          >
            <title>
              {of.group === null
                ? text("slotsGroup", { group: text("slotsBatches"), count: value })
                : text("slotsPart", { group: of.group, tenant: of.tenant ?? text("slotsOthers"), count: value })}
            </title>
          </rect>
        ))}
        {bar.beyond > 0 && bar.capAt !== null ? (
          <line className={classes["cap"]} x1={bar.capAt * 100} x2={bar.capAt * 100} y1="0" y2="20" />
        ) : null}
      </svg>
      <figcaption className={classes["legend"]}>
        <span className={classes["sum"]}>{described}</span>
        {[...groups].map(([group, slots]) => (
          <span key={group} className={classes["entry"]}>
            <span className={classes["swatch"]} style={{ background: colorOf(group) }} />
            {text("slotsGroup", { group: group ?? text("slotsBatches"), count: slots })}
          </span>
        ))}
        {bar.beyond > 0 ? (
          <strong className={classes["over"]}>{text("slotsOver", { count: bar.beyond })}</strong>
        ) : null}
      </figcaption>
    </figure>
  );
}
