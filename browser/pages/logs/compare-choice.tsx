import { logViewsTexts } from "../../messages/en/log-views.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import classes from "./logs-page.module.css";
import type { LogsSearch } from "./logs-search.ts";

const text = texts("log-views", logViewsTexts);
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The requests that an address compares, two at most. */
export function comparedIds({ compare }: LogsSearch): readonly string[] {
  return [...new Set((compare ?? "").split(",").filter((id) => ID.test(id)))].slice(0, 2);
}

/** The choice with a request put in or taken out; a third one takes the place of the first. */
export function toggledCompare(search: LogsSearch, id: string): string | undefined {
  const before = comparedIds(search);
  const after = before.includes(id) ? before.filter((one) => one !== id) : [...before, id].slice(-2);
  return after.length === 0 ? undefined : after.join(",");
}

/** Chooses a request for the comparison. */
export function CompareBox({
  id,
  isChosen,
  onToggle,
}: {
  readonly id: string;
  readonly isChosen: boolean;
  readonly onToggle: (id: string) => void;
}) {
  return (
    <input
      type="checkbox"
      className={classes["choose"]}
      checked={isChosen}
      aria-label={text("chooseToCompare", { id: id.slice(0, 8) })}
      onChange={() => onToggle(id)}
    />
  );
}

export function CompareHead() {
  return <span className={classes["hidden"]}>{text("columnCompare")}</span>;
}

/** Says that another request is to be chosen. */
export function CompareBar({ onStop }: { readonly onStop: () => void }) {
  return (
    <div className={classes["live"]} role="status">
      {text("compareOne")}
      <Button tone="quiet" onClick={onStop}>
        {text("compareStop")}
      </Button>
    </div>
  );
}
