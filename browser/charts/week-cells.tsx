/** The week as a grid of half hours: drag over cells, or move with the arrow keys, extend with Shift and press Space. */
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import type { WeeklyWindow } from "../../shared/access/access-window.ts";
import { chartTexts } from "../messages/en/charts.ts";
import { texts } from "../messages/texts.ts";
import { formatMinutes, weekdayName } from "../time/instants.ts";
import { classNames } from "../ui/class-names.ts";
import classes from "./week-grid.module.css";
import { cellWindow, isSelected, movedCell, selectedWindows, WEEK_SLOTS, type WeekCell } from "./week-selection.ts";
import { openMinutes, WEEK_DAYS } from "./week-windows.ts";

const text = texts("charts", chartTexts);
const ROWS = Array.from({ length: WEEK_DAYS }, (_, row) => row);
const SLOTS = Array.from({ length: WEEK_SLOTS }, (_, slot) => slot);
/** A label stands over every sixth hour. */
const LABEL_SLOTS = 12;

interface WeekCellsProps {
  readonly windows: readonly WeeklyWindow[];
  /** Opens or closes times; null: they can be read only. */
  readonly onSelect: ((parts: readonly WeeklyWindow[], isOpen: boolean) => void) | null;
}

export function WeekCells({ windows, onSelect }: WeekCellsProps) {
  const [focus, setFocus] = useState<WeekCell>({ row: 0, slot: 18 });
  const [anchor, setAnchor] = useState<WeekCell | null>(null);
  const [isDragging, setDragging] = useState(false);
  const table = useRef<HTMLTableElement>(null);

  const goTo = (cell: WeekCell): void => {
    setFocus(cell);
    table.current?.querySelector<HTMLElement>(`[data-cell="${cell.row} ${cell.slot}"]`)?.focus();
  };
  /** A selection becomes what its first cell is not. */
  const apply = (first: WeekCell, last: WeekCell): void => {
    onSelect?.(selectedWindows(first, last), stateOf(windows, first) !== "open");
    setAnchor(null);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (onSelect === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const moved = movedCell(event.key, focus);
    if (moved !== null) {
      setAnchor(event.shiftKey ? (anchor ?? focus) : null);
      goTo(moved);
    } else if (event.key === " " || event.key === "Enter") apply(anchor ?? focus, focus);
    else if (event.key === "Escape" && anchor !== null) setAnchor(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onPointerDown = (event: PointerEvent): void => {
    const cell = cellAt(event);
    if (onSelect === null || cell === null || event.button !== 0) return;
    event.preventDefault();
    setDragging(true);
    setAnchor(cell);
    goTo(cell);
  };
  const onPointerMove = (event: PointerEvent): void => {
    const cell = isDragging ? cellAt(event) : null;
    if (cell !== null && (cell.row !== focus.row || cell.slot !== focus.slot)) setFocus(cell);
  };
  const endDrag = (isMeant: boolean): void => {
    if (!isDragging) return;
    setDragging(false);
    if (isMeant && anchor !== null) apply(anchor, focus);
    else setAnchor(null);
  };
  return (
    <div className={classes["scroll"]}>
      <table
        ref={table}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a table whose cells are operated is a grid
        role="grid"
        aria-label={text("weekGrid")}
        aria-multiselectable
        aria-readonly={onSelect === null}
        className={classNames(classes["grid"], onSelect !== null && classes["editable"])}
        onKeyDown={onKeyDown}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={() => endDrag(true)}
        onPointerCancel={() => endDrag(false)}
        onPointerLeave={() => endDrag(false)}
      >
        <thead>
          <tr>
            <td />
            {SLOTS.filter((slot) => slot % LABEL_SLOTS === 0).map((slot) => (
              <th key={slot} scope="colgroup" colSpan={LABEL_SLOTS} className={classes["hour"]}>
                {formatMinutes(cellWindow({ row: 0, slot }).start_min)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ROWS.map((row) => (
            <tr key={row}>
              <th scope="row" className={classes["day"]}>
                {weekdayName(cellWindow({ row, slot: 0 }).day, "short")}
              </th>
              {SLOTS.map((slot) => (
                <Cell
                  key={slot}
                  cell={{ row, slot }}
                  state={stateOf(windows, { row, slot })}
                  isInSelection={anchor !== null && isSelected({ row, slot }, anchor, focus)}
                  tabIndex={onSelect === null ? undefined : focus.row === row && focus.slot === slot ? 0 : -1}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type CellState = "open" | "closed" | "partly";
const STATE_TEXTS = { open: "weekOpen", closed: "weekClosed", partly: "weekPartly" } as const;

interface CellProps {
  readonly cell: WeekCell;
  readonly state: CellState;
  readonly isInSelection: boolean;
  readonly tabIndex: number | undefined;
}

function Cell({ cell, state, isInSelection, tabIndex }: CellProps) {
  const { day, start_min, end_min } = cellWindow(cell);
  const name = text("weekCell", {
    day: weekdayName(day, "long"),
    from: formatMinutes(start_min),
    to: formatMinutes(end_min),
    state: text(STATE_TEXTS[state]),
  });
  return (
    <td
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a cell of a grid
      role="gridcell"
      data-cell={`${cell.row} ${cell.slot}`}
      data-state={state}
      aria-label={name}
      aria-selected={isInSelection}
      title={name}
      tabIndex={tabIndex}
      className={classNames(classes["cell"], isInSelection && classes["selected"])}
    />
  );
}

function stateOf(windows: readonly WeeklyWindow[], cell: WeekCell): CellState {
  const part = cellWindow(cell);
  const minutes = openMinutes(windows, part);
  return minutes === 0 ? "closed" : minutes === part.end_min - part.start_min ? "open" : "partly";
}

/** The cell under the pointer; a finger keeps its first target, so that the place decides. */
function cellAt(event: PointerEvent): WeekCell | null {
  const element = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-cell]");
  const [row, slot] = (element?.getAttribute("data-cell") ?? "").split(" ").map(Number);
  return row === undefined || slot === undefined ? null : { row, slot };
}
