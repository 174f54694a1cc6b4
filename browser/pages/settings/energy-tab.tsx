import { energyBodySchema, energySchema } from "../../../shared/schema/settings/energy.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { objectSpecs } from "../../forms/record/field-specs.ts";
import { Trial } from "../../forms/trial.tsx";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { formatCount } from "../../ui/format.ts";
import { Facts } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { SettingPanel, useSetting } from "./setting-panel.tsx";

const text = texts("settings", settingsTexts);
const SPECS = objectSpecs(energySchema.omit({ last_reading: true, rev: true }));

function powerText({ cluster_watts, node_count }: Records["PowerReading"]): string {
  return text("energyResult", { watts: formatCount(cluster_watts), nodes: node_count });
}

/** Where the cluster's power is read, and what energy costs. */
export function EnergyTab() {
  const reading = useSetting("energy").data?.last_reading;
  return (
    <SettingPanel
      name="energy"
      title={text("energy")}
      effect={text("energyText")}
      specs={SPECS}
      schema={energyBodySchema}
      note={({ prometheus_url, power_query }) => (
        <>
          {reading !== undefined && (
            <Facts
              facts={[
                [
                  text("reading"),
                  reading === null ? (
                    text("readingNone")
                  ) : (
                    <span key="reading">
                      {powerText(reading)} <Age at={reading.read_at} />
                    </span>
                  ),
                ],
                ...(reading?.error == null ? [] : [[text("readingError"), reading.error] as const]),
              ]}
            />
          )}
          <Trial
            label={text("energyTest")}
            note={text("energyTestText")}
            run={async () => {
              const body = { prometheus_url, power_query } as Records["TestEnergy"];
              return answerValue(await api.POST("/api/v1/settings/energy/test", { body }));
            }}
          >
            {(power) => <Notice tone="good">{powerText(power)}</Notice>}
          </Trial>
        </>
      )}
    />
  );
}
