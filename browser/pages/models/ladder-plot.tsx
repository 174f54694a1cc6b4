import type { Records } from "../../data/api.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatMs, formatShortCount } from "../../ui/format.ts";
import { Grid } from "../../ui/layout.tsx";
import { ladderOf } from "./ladder.ts";
import classes from "./ladder-plot.module.css";

const text = texts("models", modelsTexts);

type Step = Records["AutotuneReport"]["steps"][number];

interface LadderPlotProps {
  readonly steps: readonly Step[];
  /** The concurrency that is recommended. */
  readonly chosen: number;
  readonly targetMs: number;
}

/** The ladder of auto-tune: what each step brought, and what it cost in time. Its figures stand in the table beside it. */
export function LadderPlot({ steps, chosen, targetMs }: LadderPlotProps) {
  return (
    <Grid minWidth="wide">
      <Bars
        title={text("ladderThroughput")}
        steps={steps}
        chosen={chosen}
        figureOf={({ throughput_rps }) => throughput_rps}
        format={formatShortCount}
        limit={null}
      />
      <Bars
        title={text("ladderLatency")}
        steps={steps}
        chosen={chosen}
        figureOf={({ p99_ms }) => p99_ms}
        format={formatMs}
        limit={targetMs}
      />
    </Grid>
  );
}

interface BarsProps {
  readonly title: string;
  readonly steps: readonly Step[];
  readonly chosen: number;
  readonly figureOf: (step: Step) => number | null;
  readonly format: (value: number | null) => string;
  readonly limit: number | null;
}

function Bars({ title, steps, chosen, figureOf, format, limit }: BarsProps) {
  const { bars, limitAt } = ladderOf(steps, figureOf, limit);
  return (
    <figure className={classes["plot"]}>
      <figcaption>{title}</figcaption>
      <div className={classes["bars"]}>
        {bars.map(({ concurrency, value, length }) => (
          <div
            key={concurrency}
            className={classes["step"]}
            title={text("ladderAt", { count: formatCount(concurrency), value: format(value) })}
          >
            <span className={classes["value"]}>{format(value)}</span>
            <span className={classes["track"]}>
              <span
                className={classes["bar"]}
                data-chosen={concurrency === chosen || undefined}
                style={{ height: `${length * 100}%` }}
              />
              {limitAt !== null && <span className={classes["limit"]} style={{ bottom: `${limitAt * 100}%` }} />}
            </span>
            <span className={classes["name"]}>{formatCount(concurrency)}</span>
          </div>
        ))}
      </div>
      <p className={classes["note"]}>
        {text("concurrency")}
        {limit !== null && ` · ${text("ladderTarget", { ms: formatMs(limit) })}`}
      </p>
    </figure>
  );
}
