/** A small line of the recent past, beside a figure. The figure and its label say what the line means. */
import classes from "./sparkline.module.css";
import { sparklinePath } from "./sparkline-path.ts";

const WIDTH = 100;
const HEIGHT = 28;

interface SparklineProps {
  /** At equal distances of time; null: not known. */
  readonly values: readonly (number | null)[];
  /** What it shows, in words, with the figures that matter. */
  readonly label: string;
}

/** Draws the line over the whole width of its place; nothing when no value is known. */
export function Sparkline({ values, label }: SparklineProps) {
  return (
    <svg className={classes["sparkline"]} viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`} preserveAspectRatio="none" role="img">
      <title>{label}</title>
      <path d={sparklinePath(values, WIDTH, HEIGHT)} />
    </svg>
  );
}
