import { MARK_BOX, MARK_PATHS } from "../../shared/console-mark.ts";
import classes from "./mark.module.css";

/** The console's mark; the product's name stands beside it. */
export function Mark({ size = 24 }: { readonly size?: number }) {
  return (
    <svg className={classes["mark"]} width={size} height={size} viewBox={MARK_BOX} aria-hidden="true">
      <rect width="24" height="24" rx="6" />
      {MARK_PATHS.map((d) => (
        <path key={d} d={d} />
      ))}
    </svg>
  );
}
