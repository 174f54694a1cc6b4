/** One more access window by day and times, to the minute; an end at or before the start is on the next day. */
import { type KeyboardEvent, useState } from "react";
import type { WeeklyWindow } from "../../shared/access/access-window.ts";
import { chartTexts } from "../messages/en/charts.ts";
import { texts } from "../messages/texts.ts";
import { minutesOf, weekdayName } from "../time/instants.ts";
import { Button } from "../ui/button.tsx";
import { SelectField, TextField } from "../ui/fields.tsx";
import classes from "./week-grid.module.css";
import { windowsBetween } from "./week-windows.ts";

const text = texts("charts", chartTexts);
/** Monday first. */
const DAYS = [1, 2, 3, 4, 5, 6, 0];

/** Is not a form itself, because it can be within one; Enter adds. */
export function WeekAdd({ onAdd }: { readonly onAdd: (windows: readonly WeeklyWindow[]) => void }) {
  const [day, setDay] = useState(1);
  const [from, setFrom] = useState("09:00");
  const [to, setTo] = useState("17:00");
  const [isWrong, setWrong] = useState(false);
  const add = (): void => {
    const [startMin, endMin] = [minutesOf(from), minutesOf(to)];
    setWrong(startMin === null || endMin === null);
    if (startMin !== null && endMin !== null) onAdd(windowsBetween(day, startMin, endMin));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    add();
  };
  const time = (label: string, value: string, set: (value: string) => void) => (
    <TextField
      label={label}
      type="time"
      value={value}
      onChange={(event) => set(event.currentTarget.value)}
      onKeyDown={onKeyDown}
    />
  );
  return (
    <fieldset className={classes["add"]}>
      <legend>{text("addWindow")}</legend>
      <SelectField
        label={text("addDay")}
        choices={DAYS.map((one) => ({ value: String(one), label: weekdayName(one, "long") }))}
        value={String(day)}
        onChange={(event) => setDay(Number(event.currentTarget.value))}
      />
      {time(text("addFrom"), from, setFrom)}
      {time(text("addTo"), to, setTo)}
      <Button onClick={add}>{text("add")}</Button>
      <p className={isWrong ? classes["problem"] : classes["hint"]} role={isWrong ? "alert" : undefined}>
        {text(isWrong ? "badTime" : "addHint")}
      </p>
    </fieldset>
  );
}
