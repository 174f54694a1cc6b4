/** The cells of the week grid: where the focus goes, and which times a selection of cells stands for. Pure. */
import type { WeeklyWindow } from "../../shared/access/access-window.ts";
import { DAY_MIN, WEEK_DAYS } from "./week-windows.ts";

/** A half hour of a day; row 0 is Monday. */
export interface WeekCell {
  readonly row: number;
  readonly slot: number;
}

const SLOT_MIN = 30;
export const WEEK_SLOTS = DAY_MIN / SLOT_MIN;

/** The half hour of a cell. Days of windows begin with Sunday, rows with Monday. */
export function cellWindow({ row, slot }: WeekCell): WeeklyWindow {
  return { day: (row + 1) % WEEK_DAYS, start_min: slot * SLOT_MIN, end_min: (slot + 1) * SLOT_MIN };
}

/** The times between two cells, both included: the same hours of each day between them. */
export function selectedWindows(anchor: WeekCell, focus: WeekCell): readonly WeeklyWindow[] {
  const [top, bottom] = [Math.min(anchor.row, focus.row), Math.max(anchor.row, focus.row)];
  const [left, right] = [Math.min(anchor.slot, focus.slot), Math.max(anchor.slot, focus.slot)];
  return Array.from({ length: bottom - top + 1 }, (_, at) => ({
    day: cellWindow({ row: top + at, slot: 0 }).day,
    start_min: left * SLOT_MIN,
    end_min: (right + 1) * SLOT_MIN,
  }));
}

/** Whether a cell is between two others, both included. */
export function isSelected({ row, slot }: WeekCell, anchor: WeekCell, focus: WeekCell): boolean {
  const isBetween = (value: number, a: number, b: number): boolean =>
    value >= Math.min(a, b) && value <= Math.max(a, b);
  return isBetween(row, anchor.row, focus.row) && isBetween(slot, anchor.slot, focus.slot);
}

/** Where a key moves the focus; null: the key is not the grid's. */
export function movedCell(key: string, { row, slot }: WeekCell): WeekCell | null {
  switch (key) {
    case "ArrowLeft":
      return { row, slot: Math.max(0, slot - 1) };
    case "ArrowRight":
      return { row, slot: Math.min(WEEK_SLOTS - 1, slot + 1) };
    case "ArrowUp":
      return { row: Math.max(0, row - 1), slot };
    case "ArrowDown":
      return { row: Math.min(WEEK_DAYS - 1, row + 1), slot };
    case "Home":
      return { row, slot: 0 };
    case "End":
      return { row, slot: WEEK_SLOTS - 1 };
    default:
      return null;
  }
}
