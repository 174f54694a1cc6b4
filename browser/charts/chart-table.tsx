/** The figures of a chart as a table, for those who do not see it or want the numbers. Its rows exist only while it is open. */
import { useState } from "react";
import { chartTexts } from "../messages/en/charts.ts";
import { texts } from "../messages/texts.ts";
import { formatInstant } from "../time/instants.ts";
import { zoneLabel } from "../time/zones.ts";
import type { PlotContent } from "./plot.ts";
import classes from "./time-chart.module.css";

const text = texts("charts", chartTexts);
const ROWS_MAX = 50;

interface ChartTableProps {
  readonly content: PlotContent;
  readonly series: readonly { readonly id: string; readonly label: string }[];
  /** The element that names the chart. */
  readonly titleId: string;
}

/** The newest 50 instants, the newest first. */
export function ChartTable({ content, series, titleId }: ChartTableProps) {
  const { data, zone, format } = content;
  const [isOpen, setOpen] = useState(false);
  const rows = isOpen ? [...data.atMs.keys()].slice(-ROWS_MAX).reverse() : [];
  return (
    <details className={classes["details"]} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{text("asTable")}</summary>
      <div className={classes["scroll"]}>
        <table aria-labelledby={titleId} className={classes["table"]}>
          <thead>
            <tr>
              <th scope="col">{text("time", { zone: zoneLabel(zone, data.atMs.at(-1) ?? 0) })}</th>
              {series.map(({ id, label }) => (
                <th key={id} scope="col" className={classes["number"]}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((at) => (
              <tr key={data.atMs[at]}>
                <th scope="row">{formatInstant(zone, data.atMs[at] ?? null)}</th>
                {series.map(({ id }, which) => {
                  const value = data.values[which]?.[at] ?? null;
                  return (
                    <td key={id} className={classes["number"]}>
                      {value === null ? text("unknown") : format(value)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {isOpen && data.atMs.length > ROWS_MAX ? (
        <p>{text("tableNewest", { shown: ROWS_MAX, all: data.atMs.length })}</p>
      ) : null}
    </details>
  );
}
