import { useState } from "react";
import { dayIn } from "../../../shared/zone-days.ts";
import { filterTexts } from "../../messages/en/filters.ts";
import { texts } from "../../messages/texts.ts";
import { type Period, periodBounds, periodLabel, periodParam, periodProblem } from "../../time/periods.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import type { ZoneChoice } from "../../time/zones.ts";
import { SelectField, TextField } from "../../ui/fields.tsx";

const text = texts("filters", filterTexts);
const HOUR_MS = 3_600_000;
const CUSTOM = "custom";

type Moving = Exclude<Period["kind"], "custom">;

interface PeriodFilterProps {
  readonly period: Period;
  /** The moving periods that are offered besides own days. */
  readonly kinds: readonly Moving[];
  /** As it stands in an address. */
  readonly onPeriod: (period: string) => void;
  /** Absent: the zone cannot be chosen. */
  readonly onZone?: (zone: ZoneChoice | undefined) => void;
}

/** The period of a page, and the zone by whose clock its days begin. */
export function PeriodFilter({ period, kinds, onPeriod, onZone }: PeriodFilterProps) {
  const nowMs = useNow(HOUR_MS);
  const { zone, options } = useZone();
  const isCustom = period.kind === CUSTOM;
  const { days } = periodBounds(period, zone, nowMs);
  const today = dayIn(zone, nowMs);
  const [problem, setProblem] = useState<{ readonly field: "from" | "to"; readonly text: string } | null>(null);
  const [from, to] = isCustom ? [period.fromDay, period.toDay] : [days?.first ?? today, days?.last ?? today];
  const own = (fromDay: string, toDay: string): void => {
    const found = periodProblem(fromDay, toDay);
    setProblem(found);
    if (found === null) onPeriod(periodParam({ kind: CUSTOM, fromDay, toDay }));
  };
  const choose = (value: string): void => {
    const moving = kinds.find((kind) => kind === value);
    if (moving === undefined) own(from, to);
    else onPeriod(moving);
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
            key={`from ${from}`}
            defaultValue={from}
            error={problem?.field === "from" ? problem.text : undefined}
            onChange={(event) => own(event.target.value, to)}
          />
          <TextField
            label={text("toDay")}
            type="date"
            key={`to ${to}`}
            defaultValue={to}
            error={problem?.field === "to" ? problem.text : undefined}
            onChange={(event) => own(from, event.target.value)}
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
