import { type KeyboardEvent, type ReactNode, useId } from "react";
import classes from "./tabs.module.css";

interface Tab {
  readonly id: string;
  readonly label: string;
  /** Drawn only while the tab is chosen. */
  readonly content: ReactNode;
}

/** Tabs over one object. Which is chosen belongs in the address of the page. Arrows move among them, Enter or Space chooses. */
export function Tabs({
  tabs,
  chosen,
  onChoose,
  label,
}: {
  readonly tabs: readonly Tab[];
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
  readonly label: string;
}) {
  const panelId = useId();
  const open = tabs.find(({ id }) => id === chosen);
  return (
    <div className={classes["root"]}>
      <div role="tablist" aria-label={label} className={classes["list"]} onKeyDown={moveFocus}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${panelId}-${tab.id}`}
            aria-selected={tab === open}
            aria-controls={tab === open ? panelId : undefined}
            tabIndex={tab === (open ?? tabs[0]) ? 0 : -1}
            className={classes["tab"]}
            onClick={() => tab !== open && onChoose(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      {open !== undefined && (
        <div
          key={open.id}
          role="tabpanel"
          id={panelId}
          aria-labelledby={`${panelId}-${open.id}`}
          tabIndex={0}
          className={classes["panel"]}
        >
          {open.content}
        </div>
      )}
    </div>
  );
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const tabs = [...event.currentTarget.querySelectorAll<HTMLElement>("[role='tab']")];
  const at = tabs.indexOf(event.target as HTMLElement);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key];
  if (to === undefined || at === -1 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  tabs.at(to % tabs.length)?.focus();
}
