import type { ReactNode } from "react";
import classes from "./fold.module.css";

/** What few need, below its title, which shows it. */
export function Fold({
  title,
  id,
  isNeeded,
  children,
}: {
  readonly title: ReactNode;
  readonly id?: string;
  /** Opens it, for something in it that has to be seen; it stays open afterwards. */
  readonly isNeeded: boolean;
  readonly children: ReactNode;
}) {
  return (
    <details
      className={classes["fold"]}
      ref={(element) => {
        if (element !== null && isNeeded) element.open = true;
      }}
    >
      <summary id={id}>{title}</summary>
      <div>{children}</div>
    </details>
  );
}
