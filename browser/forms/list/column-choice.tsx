import { Columns3 } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { listTexts } from "../../messages/en/list.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { CheckField } from "../../ui/fields.tsx";
import classes from "./column-choice.module.css";
import { columnsParam, shownColumns } from "./list-columns.ts";

const text = texts("list", listTexts);

interface ColumnChoiceProps {
  /** What the table lists, read out where a page has several. */
  readonly label?: string;
  /** All that there are. */
  readonly columns: readonly { readonly id: string; readonly head: ReactNode; readonly name?: string }[];
  readonly shown: readonly { readonly id: string }[];
  /** The columns as they stand in an address; undefined: the usual ones. */
  readonly onChoose: (param: string | undefined) => void;
  /** Present: there is something to take back to what is usual. */
  readonly onReset?: (() => void) | undefined;
}

/** A button that opens the choice of a table's columns. */
export function ColumnChoice({ label, columns, shown, onChoose, onReset }: ColumnChoiceProps) {
  const id = useId();
  const [isOpen, setIsOpen] = useState(false);
  // What was chosen holds at once, for the next press too; the address that the columns shown come from follows.
  const given = shown.map((column) => column.id).join(",");
  const [chosen, setChosen] = useState({ given, ids: given });
  if (chosen.given !== given) setChosen({ given, ids: given });
  const now = shownColumns(columns, chosen.ids);
  const ids = new Set(now.map((column) => column.id));
  const toggle = (column: string): void => {
    const param = columnsParam(columns, now, column);
    if (param !== undefined) setChosen({ given, ids: param });
    onChoose(param);
  };
  return (
    <>
      <Button
        icon={<Columns3 size={14} aria-hidden />}
        popoverTarget={id}
        aria-label={label === undefined ? undefined : text("columnsOf", { label })}
      >
        {text("columns")}
      </Button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: takes a key that goes to a box in it */}
      <div
        id={id}
        popover="auto"
        className={classes["columns"]}
        onToggle={(event) => setIsOpen(event.newState === "open")}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
          event.preventDefault(); // in a form it would submit what was typed there
          event.target.click();
        }}
      >
        {(isOpen ? columns : []).map((column) => (
          <CheckField
            key={column.id}
            label={column.name ?? column.head}
            checked={ids.has(column.id)}
            onChange={() => toggle(column.id)}
          />
        ))}
        {onReset !== undefined && (
          <Button tone="quiet" onClick={onReset}>
            {text("usual")}
          </Button>
        )}
      </div>
    </>
  );
}
