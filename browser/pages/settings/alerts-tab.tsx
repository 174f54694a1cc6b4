import { useState } from "react";
import { alertsBodySchema, alertsSchema } from "../../../shared/schema/settings/alerts.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { pageTarget } from "../../explain/link-target.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { objectSpecs, secretSpec } from "../../forms/record/field-specs.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { Trial } from "../../forms/trial.tsx";
import { TargetLink } from "../../links/target-link.tsx";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Panel } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { readsOf, SettingHistory, SettingPanel, saveSetting, useSetting } from "./setting-panel.tsx";
import { undoEmail } from "./setting-undo.ts";

const text = texts("settings", settingsTexts);

const REPEATS = objectSpecs(alertsSchema.pick({ min_interval_secs: true }));
const emailSchema = alertsSchema.shape.email.unwrap();
const EMAIL = [...objectSpecs(emailSchema.omit({ password_set: true })), secretSpec("smtp_password", "password_set")];
/** What the form of email shows while it is off. */
const NO_EMAIL: FieldValues = { smtp_port: 587, starttls: true, recipients: [] };
const emailBody = alertsBodySchema.shape.email.unwrap().unwrap();

/** The interval of repeats, the mail server with its first recipients, and a test of all channels. */
export function AlertsTab() {
  const { data } = useSetting("alerts");
  const isOn = data?.email != null;
  return (
    <>
      <SettingPanel
        name="alerts"
        hasHistory={false}
        title={text("alertsRepeats")}
        effect={text("alertsRepeatsText")}
        specs={REPEATS}
        schema={alertsBodySchema}
        actions={
          <TargetLink target={pageTarget("/alerts", { tab: "channels" })} isButton>
            {text("alertsChannels")}
          </TargetLink>
        }
      />
      <SettingPanel
        name="alerts"
        hasHistory={false}
        title={text("alertsEmail")}
        effect={isOn ? text("alertsEmailText") : `${text("alertsEmailText")} ${text("emailOff")}`}
        specs={EMAIL}
        schema={emailBody}
        undoOf={undoEmail}
        fieldsOf={({ email }) => (email as FieldValues | null) ?? NO_EMAIL}
        bodyOf={({ smtp_password, ...body }) => ({
          email: smtp_password === "" ? { ...body, clear_smtp_password: true } : { ...body, smtp_password },
        })}
        actions={isOn && <TurnOff />}
      />
      {data !== undefined && (
        <>
          <Panel title={text("alertsTestTitle")} note={text("alertsTestText")}>
            <Trial
              label={text("alertsTest")}
              run={async () => answerValue(await api.POST("/api/v1/settings/alerts/test")).results}
            >
              {(results) => results.map((result) => <Channel key={result.channel} {...result} />)}
            </Trial>
          </Panel>
          <SettingHistory name="alerts" />
        </>
      )}
    </>
  );
}

function Channel({ name, ok, detail }: Records["AlertsTest"]["results"][number]) {
  const values = { channel: name, detail };
  return <Notice tone={ok ? "good" : "bad"}>{text(ok ? "channelOk" : "channelFailed", values)}</Notice>;
}

/** Email is turned off after a question: nobody here knows its password to turn it on again. */
function TurnOff() {
  const [isAsked, setAsked] = useState(false);
  const write = useAnnouncedWrite<null>({
    send: async () => await saveSetting("alerts", { email: null }),
    touches: readsOf("alerts"),
    done: () => text("emailOffDone"),
    failed: () => text("emailOffFailed"),
    onDone: () => setAsked(false),
  });
  return (
    <>
      <Button writes onClick={() => setAsked(true)}>
        {text("emailTurnOff")}
      </Button>
      <Confirm
        isOpen={isAsked}
        onCancel={() => setAsked(false)}
        onConfirm={() => write.run(null)}
        title={text("emailOffTitle")}
        confirmLabel={text("emailTurnOff")}
        isBusy={write.isBusy}
      >
        {text("emailOffText")}
      </Confirm>
    </>
  );
}
