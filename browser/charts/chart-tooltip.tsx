/** The values of a chart at the instant under its cursor. */
import { chartTexts } from "../messages/en/charts.ts";
import { texts } from "../messages/texts.ts";
import { formatInstant } from "../time/instants.ts";
import type { PlotContent, PlotCursor } from "./plot.ts";
import classes from "./time-chart.module.css";

const text = texts("charts", chartTexts);
const GAP_PX = 12;
/** As in the stylesheet. */
const WIDTH_PX = 220;

interface ChartTooltipProps {
  readonly content: PlotContent;
  readonly series: readonly { readonly id: string; readonly label: string; readonly color: string }[];
  readonly cursor: PlotCursor;
}

/** Stands on the side of the instant that has more room, over nothing that the pointer needs. */
export function ChartTooltip({ content, series, cursor }: ChartTooltipProps) {
  const { at, leftPx, isRightHalf } = cursor;
  const { data, format, zone, limit } = content;
  const values = series.map((one, which) => ({ ...one, value: data.values[which]?.[at] ?? null }));
  const known = values.flatMap(({ value }) => (value === null ? [] : [value]));
  const isStack = data.tops !== data.values;
  const cap = limit?.[at] ?? null;
  return (
    <div className={classes["tooltipRail"]} aria-hidden="true">
      <div
        className={classes["tooltip"]}
        style={
          isRightHalf
            ? { right: `min(100% - ${leftPx - GAP_PX}px, 100% - ${WIDTH_PX}px)` }
            : { left: `min(${leftPx + GAP_PX}px, 100% - ${WIDTH_PX}px)` }
        }
      >
        <p className={classes["tooltipTime"]}>{formatInstant(zone, data.atMs[at] ?? null)}</p>
        <dl>
          {values.reverse().map(({ id, label, color, value }) => (
            <div key={id}>
              <dt>
                <span className={classes["swatch"]} style={{ background: color }} />
                <span className={classes["label"]}>{label}</span>
              </dt>
              <dd>{value === null ? text("unknown") : format(value)}</dd>
            </div>
          ))}
          {isStack && known.length > 1 ? (
            <div className={classes["total"]}>
              <dt>{text("total")}</dt>
              <dd>{format(known.reduce((sum, value) => sum + Math.max(0, value), 0))}</dd>
            </div>
          ) : null}
          {cap === null ? null : (
            <div>
              <dt>{text("limit")}</dt>
              <dd>{format(cap)}</dd>
            </div>
          )}
        </dl>
      </div>
    </div>
  );
}
