import { type KeyboardEvent, useState } from "react";
import { dayIn, QUARTER_MS } from "../../../shared/time/zone-days.ts";
import { filterTexts } from "../../messages/en/filters.ts";
import { texts } from "../../messages/texts.ts";
import { type Period, periodBounds, periodLabel, periodParam } from "../../time/periods.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import type { ZoneChoice } from "../../time/zones.ts";
import { SelectField, TextField } from "../../ui/fields.tsx";
import { editedDraft, finishedDraft, keptDraft, type PeriodDraft } from "./period-draft.ts";

const text = texts("filters", filterTexts);
const CUSTOM = "custom";

type Moving = Exclude<Period["kind"], "custom">;

interface PeriodFilterProps {
  readonly period: Period;
  /** The moving periods that are offered in addition to own days. */
  readonly kinds: readonly Moving[];
  /** As it stands in an address. */
  readonly onPeriod: (period: string) => void;
  /** Absent: the zone cannot be chosen. */
  readonly onZone?: (zone: ZoneChoice | undefined) => void;
}

/** The period of a page, and the zone by whose clock its days begin. */
export function PeriodFilter({ period, kinds, onPeriod, onZone }: PeriodFilterProps) {
  const nowMs = useNow(QUARTER_MS);
  const { zone, options } = useZone();
  const isCustom = period.kind === CUSTOM;
  const { days } = periodBounds(period, zone, nowMs);
  const today = dayIn(zone, nowMs);
  const [held, setHeld] = useState<PeriodDraft | null>(null);
  const draft = keptDraft(held, period);
  // a draft that has ended does not come back with the period over which it was typed
  if (draft !== held) setHeld(draft);
  const { from, to } = draft ?? (isCustom ? { from: period.fromDay, to: period.toDay } : { from: "", to: "" });
  const edit = (change: { readonly from?: string; readonly to?: string }): void =>
    setHeld(editedDraft(draft, period, { from, to }, change));
  const finish = (): void => {
    if (draft === null) return;
    const finished = finishedDraft(draft);
    setHeld(finished);
    if (finished !== null && finished.asked !== null) onPeriod(finished.asked);
  };
  const onKey = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.key === "Enter") finish();
  };
  const choose = (value: string): void => {
    setHeld(null);
    const moving = kinds.find((kind) => kind === value);
    onPeriod(moving ?? periodParam({ kind: CUSTOM, fromDay: days?.first ?? today, toDay: days?.last ?? today }));
  };
  return (
    <>
      <SelectField
        label={text("period")}
        value={period.kind}
        choices={[
          ...kinds.map((kind) => ({ value: kind, label: periodLabel({ kind }) })),
          { value: CUSTOM, label: text("periodCustom") },
        ]}
        onChange={(event) => choose(event.target.value)}
      />
      {isCustom && (
        <>
          <TextField
            label={text("fromDay")}
            type="date"
            value={from}
            error={draft?.problem?.field === "from" ? draft.problem.text : undefined}
            onChange={(event) => edit({ from: event.target.value })}
            onBlur={finish}
            onKeyDown={onKey}
          />
          <TextField
            label={text("toDay")}
            type="date"
            value={to}
            error={draft?.problem?.field === "to" ? draft.problem.text : undefined}
            onChange={(event) => edit({ to: event.target.value })}
            onBlur={finish}
            onKeyDown={onKey}
          />
        </>
      )}
      {onZone !== undefined && (
        <SelectField
          label={text("zone")}
          value={options.find((option) => option.zone === zone)?.choice ?? "utc"}
          choices={options.map(({ choice, label }) => ({ value: choice, label }))}
          onChange={(event) => onZone(options.find((option) => option.choice === event.target.value)?.choice)}
        />
      )}
    </>
  );
}
