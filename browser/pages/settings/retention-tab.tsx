import { usageRetentionBodySchema, usageRetentionSchema } from "../../../shared/schema/settings/usage-retention.ts";
import { answerValue, api } from "../../data/api.ts";
import { objectSpecs } from "../../forms/record/field-specs.ts";
import { Trial } from "../../forms/trial.tsx";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { Notice } from "../../ui/states.tsx";
import { SettingPanel, useSetting } from "./setting-panel.tsx";

const text = texts("settings", settingsTexts);
const SPECS = objectSpecs(usageRetentionSchema.pick({ days: true }));
const DAY_MS = 86_400_000;

/** For how long raw usage rows are kept. */
export function RetentionTab() {
  const todayMs = useNow(DAY_MS);
  const before = useSetting("usage-retention").data?.days;
  return (
    <SettingPanel
      name="usage-retention"
      title={text("retention")}
      effect={text("retentionText")}
      specs={SPECS}
      schema={usageRetentionBodySchema}
      note={({ days }) => (
        <>
          {usageRetentionBodySchema.safeParse({ days }).success && before !== undefined && Number(days) < before && (
            <Notice tone="warn">
              {text("retentionShorter", {
                day: new Date(todayMs - Number(days) * DAY_MS).toISOString().slice(0, 10),
              })}
            </Notice>
          )}
          <Trial
            label={text("compact", { days: before ?? "" })}
            run={async () => answerValue(await api.POST("/api/v1/usage/compact"))}
          >
            {({ retention_days, partitions_dropped }) => (
              <Notice tone="good">
                {text(partitions_dropped === 0 ? "compactNothing" : "compactDone", {
                  days: retention_days,
                  count: partitions_dropped,
                })}
              </Notice>
            )}
          </Trial>
        </>
      )}
    />
  );
}
