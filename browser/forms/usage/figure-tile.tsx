import type { ReactNode } from "react";
import { Sparkline } from "../../charts/sparkline.tsx";
import type { LinkTarget } from "../../explain/link-target.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { STATE_TEXTS } from "../../messages/common.ts";
import { Tile } from "../../ui/layout.tsx";
import classes from "./figure-tile.module.css";

/** One figure, the line of its day, and the view that explains it. */
export function FigureTile({
  label,
  value,
  note,
  target,
  line,
  isLoading = false,
}: {
  readonly label: string;
  readonly value: string;
  readonly note: ReactNode;
  readonly target: LinkTarget;
  readonly line?: { readonly values: readonly (number | null)[]; readonly label: string };
  /** The figure is being read: a dash that is not there yet, not one that is unknown. */
  readonly isLoading?: boolean;
}) {
  return (
    <div className={classes["tile"]}>
      <Tile
        label={
          <TargetLink target={target} className={classes["tileLink"]}>
            {label}
          </TargetLink>
        }
        value={value}
        note={isLoading ? STATE_TEXTS.loading : note}
      >
        {line !== undefined && <Sparkline values={line.values} label={line.label} />}
      </Tile>
    </div>
  );
}
