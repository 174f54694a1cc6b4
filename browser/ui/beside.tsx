import { X } from "lucide-react";
import type { ReactNode } from "react";
import { commonText } from "../messages/common.ts";
import classes from "./beside.module.css";
import { IconButton } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { useShortcut } from "./shortcuts.ts";

interface BesideProps {
  /** What is open; null: nothing. */
  readonly detail: { readonly title: ReactNode; readonly content: ReactNode } | null;
  /** What the open part is called, read out. */
  readonly label: string;
  readonly onClose: () => void;
  /** The list, which stays in use while something is open. */
  readonly children: ReactNode;
}

/** A list and what is open of it beside it; on narrow screens over it. Esc closes. */
export function Beside({ detail, label, onClose, children }: BesideProps) {
  useShortcut("Escape", onClose, detail !== null);
  return (
    <div className={classNames(classes["beside"], detail !== null && classes["open"])}>
      {children}
      {detail !== null && (
        <aside className={classes["detail"]} aria-label={label}>
          <header className={classes["head"]}>
            <h2>{detail.title}</h2>
            <IconButton label={commonText("close")} onClick={onClose}>
              <X size={16} aria-hidden />
            </IconButton>
          </header>
          {/* scrolls, so that it can be reached by keys */}
          <section className={classes["body"]} tabIndex={0} aria-label={label}>
            {detail.content}
          </section>
        </aside>
      )}
    </div>
  );
}
