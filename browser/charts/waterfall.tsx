/** Where the time of one request went: its phases from the row alone, and its spans where it was traced. */
import type { Span } from "../../shared/schema/usage-reads.ts";
import type { UsageRow } from "../../shared/usage/usage-row.ts";
import { measured, requestPhases, type TimedRow } from "../explain/request-phases.ts";
import { chartTexts } from "../messages/en/charts.ts";
import { texts } from "../messages/texts.ts";
import { classNames } from "../ui/class-names.ts";
import { formatMs, formatShare } from "../ui/format.ts";
import { PHASE_LOOKS } from "./phase-texts.ts";
import { seriesColor } from "./series-color.ts";
import { spanBars } from "./span-bars.ts";
import classes from "./waterfall.module.css";

const text = texts("charts", chartTexts);

interface WaterfallProps {
  readonly row: TimedRow & Pick<UsageRow, "ts_ms">;
  /** Empty when the request was not traced. */
  readonly spans: readonly Span[];
}

export function Waterfall({ row, spans }: WaterfallProps) {
  return (
    <div className={classes["waterfall"]}>
      <PhaseBar row={row} />
      {spans.length === 0 ? null : <SpanTable row={row} spans={spans} />}
    </div>
  );
}

function PhaseBar({ row }: { readonly row: TimedRow }) {
  const phases = requestPhases(row);
  const wholeMs = measured(row.total_ms);
  if (phases.length === 0) return <p className={classes["whole"]}>{text("noTime")}</p>;
  const described = phases.map(({ id, durationMs }) => ({
    id,
    name: text(PHASE_LOOKS[id].text),
    duration: formatMs(durationMs),
    share: formatShare(durationMs / wholeMs),
    color: seriesColor(PHASE_LOOKS[id].color),
  }));
  return (
    <figure className={classes["phases"]}>
      <svg className={classes["phaseBar"]} viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">
        {phases.map(({ id, fromMs, durationMs }) => (
          <rect
            key={id}
            className={classes["phase"]}
            x={(fromMs / wholeMs) * 100}
            y="0"
            width={(durationMs / wholeMs) * 100}
            height="16"
            style={{ fill: seriesColor(PHASE_LOOKS[id].color) }}
          />
        ))}
      </svg>
      <figcaption>
        <p className={classes["whole"]}>{text("wholeTime", { duration: formatMs(wholeMs) })}</p>
        <ul className={classes["legend"]}>
          {described.map(({ id, name, duration, share, color }) => (
            <li key={id}>
              <span className={classes["swatch"]} style={{ background: color }} />
              <span>{name}</span>
              <span className={classes["figure"]}>{duration}</span>
              <span className={classes["share"]}>{share}</span>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

function SpanTable({ row, spans }: WaterfallProps) {
  const { bars, hiddenCount } = spanBars(row, spans);
  return (
    <div className={classes["scroll"]}>
      <table className={classes["spans"]}>
        <caption className={classes["caption"]}>{text("spanTable")}</caption>
        <thead>
          <tr>
            <th scope="col">{text("span")}</th>
            <th scope="col" className={classes["number"]}>
              {text("spanStart")}
            </th>
            <th scope="col" className={classes["number"]}>
              {text("spanDuration")}
            </th>
            <th scope="col">{text("spanBar")}</th>
          </tr>
        </thead>
        <tbody>
          {bars.map((bar, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: spans have no identifier, and their order does not change
            <tr key={at}>
              <th scope="row" style={{ paddingInlineStart: `${bar.depth * 16}px` }}>
                <details>
                  <summary className={classNames(bar.isError && classes["failed"])}>
                    {bar.name}
                    {bar.isError ? ` (${text("spanFailed")})` : ""}
                  </summary>
                  <dl className={classes["attributes"]}>
                    {bar.attributes.map(([name, value]) => (
                      <div key={name}>
                        <dt>{name}</dt>
                        <dd>{value}</dd>
                      </div>
                    ))}
                  </dl>
                </details>
              </th>
              <td className={classes["number"]}>{formatMs(bar.startMs)}</td>
              <td className={classes["number"]}>{formatMs(bar.durationMs)}</td>
              <td className={classes["track"]}>
                <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                  <rect
                    className={bar.isError ? classes["barFailed"] : classes["bar"]}
                    x={Math.min(bar.from * 100, 99.5)}
                    y="1"
                    width={Math.max(bar.length * 100, 0.5)}
                    height="8"
                  />
                </svg>
                {bar.isClipped ? <span className={classes["clipped"]}>{text("spanClipped")}</span> : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {hiddenCount > 0 ? <p className={classes["whole"]}>{text("spansHidden", { count: hiddenCount })}</p> : null}
    </div>
  );
}
