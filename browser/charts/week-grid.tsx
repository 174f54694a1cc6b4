/**
 * The weekly access windows of a tenant by its own clock (docs/rules/console-figures.md#week-grid): whether it is open now, the
 * windows in words, and the week as a grid of half hours. Windows of any minute stay as they are unless their half hour is
 * changed. Without `onChange` it is to be read only.
 */
import { useState } from "react";
import type { WeeklyWindow } from "../../shared/access/access-window.ts";
import { chartTexts } from "../messages/en/charts.ts";
import { texts } from "../messages/texts.ts";
import { formatAge, formatInstant, formatMinutes, weekdayName } from "../time/instants.ts";
import { zoneLabel } from "../time/zones.ts";
import { IconButton } from "../ui/button.tsx";
import { WeekAdd } from "./week-add.tsx";
import { WeekCells } from "./week-cells.tsx";
import classes from "./week-grid.module.css";
import { mergedWindows, type OpenSpell, openNow, openSpells, withoutSpell, withPart } from "./week-windows.ts";

const text = texts("charts", chartTexts);

interface WeekGridProps {
  readonly windows: readonly WeeklyWindow[];
  /** The tenant's zone. */
  readonly zone: string;
  readonly nowMs: number;
  /** Gets the new windows; null or absent: nothing can be changed. */
  readonly onChange?: ((windows: readonly WeeklyWindow[]) => void) | null;
}

export function WeekGrid({ windows, zone, nowMs, onChange = null }: WeekGridProps) {
  const [isRefused, setRefused] = useState(false);
  const change = (changed: readonly WeeklyWindow[] | null): void => {
    setRefused(changed === null);
    if (changed !== null) onChange?.(changed);
  };
  const changeParts = (parts: readonly WeeklyWindow[], isOpen: boolean): void =>
    change(
      parts.reduce<readonly WeeklyWindow[] | null>(
        (before, part) => (before === null ? null : withPart(before, part, isOpen)),
        windows,
      ),
    );
  if (onChange === null && windows.length === 0) return <p className={classes["hint"]}>{text("weekAlways")}</p>;
  const spells = openSpells(windows);
  return (
    <div className={classes["week"]}>
      <p className={classes["now"]}>
        {nowSentence(windows, zone, nowMs)} <span className={classes["zone"]}>{zoneLabel(zone, nowMs)}</span>
      </p>
      <WeekCells windows={windows} onSelect={onChange === null ? null : changeParts} />
      {onChange === null ? null : <p className={classes["hint"]}>{text("weekHint")}</p>}
      {isRefused ? (
        <p className={classes["problem"]} role="alert">
          {text("weekNever")}
        </p>
      ) : null}
      {spells.length === 0 && windows.length === 0 ? <p className={classes["hint"]}>{text("weekAlways")}</p> : null}
      <ul className={classes["spells"]}>
        {spells.map((spell) => (
          <li key={`${spell.startDay} ${spell.startMin}`}>
            {spellText(spell)}
            {onChange === null ? null : (
              <IconButton
                label={text("removeSpell", { spell: spellText(spell) })}
                onClick={() => change(withoutSpell(windows, spell))}
              >
                ×
              </IconButton>
            )}
          </li>
        ))}
      </ul>
      {onChange === null ? null : <WeekAdd onAdd={(added) => change(mergedWindows([...windows, ...added]))} />}
    </div>
  );
}

function nowSentence(windows: readonly WeeklyWindow[], zone: string, nowMs: number): string {
  const { isOpen, changesAtMs } = openNow(windows, zone, nowMs);
  if (changesAtMs === null) return text(isOpen ? "openAlways" : "closedAlways");
  const values = { instant: formatInstant(zone, changesAtMs, "minute"), age: formatAge(nowMs, changesAtMs) };
  return text(isOpen ? "openUntil" : "closedUntil", values);
}

function spellText({ startDay, startMin, endDay, endMin }: OpenSpell): string {
  const values = {
    startDay: weekdayName(startDay, "short"),
    from: formatMinutes(startMin),
    endDay: weekdayName(endDay, "short"),
    to: formatMinutes(endMin),
  };
  return text(startDay === endDay && startMin < endMin ? "spell" : "spellOver", values);
}
