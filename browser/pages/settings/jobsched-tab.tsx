import { jobschedBodySchema, jobschedSchema } from "../../../shared/schema/settings/jobsched.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { objectSpecs, secretSpec, valueSpec } from "../../forms/record/field-specs.ts";
import { Trial } from "../../forms/trial.tsx";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { formatAge, formatInstant, instantOf } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { formatMs } from "../../ui/format.ts";
import { Facts } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { LinesControl } from "./lines-control.tsx";
import { SettingPanel, useSetting } from "./setting-panel.tsx";

const text = texts("settings", settingsTexts);
const SPECS = [
  ...objectSpecs(jobschedSchema.pick({ enabled: true, url: true, api_version: true, user: true })),
  secretSpec("token", "token_set"),
  valueSpec("node_aliases"),
];

type Aliases = Records["Jobsched"]["node_aliases"];

/** Where the provisioner submits its jobs. */
export function JobschedTab() {
  const { data } = useSetting("jobsched");
  return (
    <SettingPanel
      name="jobsched"
      title={text("jobsched")}
      effect={text("jobschedText")}
      specs={SPECS}
      schema={jobschedBodySchema}
      bodyOf={({ token, ...body }) => (token === "" ? { ...body, clear_token: true } : { ...body, token })}
      controls={{
        node_aliases: (own) => (
          <LinesControl<Aliases>
            name="node_aliases"
            {...own}
            toLines={(aliases) => aliases.map(({ host, ip }) => `${host} ${ip}`)}
            fromLines={(lines) =>
              lines.map((line) => {
                const [host = "", ...rest] = line.split(/\s+/);
                return { host, ip: rest.join(" ") };
              })
            }
          />
        ),
      }}
      note={() => (
        <>
          {data !== undefined && <Provisioner {...data} />}
          <Trial
            label={text("jobschedTest")}
            note={text("jobschedTestText")}
            isDisabled={(data?.url ?? "") === ""}
            run={async () => answerValue(await api.POST("/api/v1/settings/jobsched/test"))}
          >
            {(result) => <Outcome {...result} />}
          </Trial>
        </>
      )}
    />
  );
}

function Outcome({ ping, token }: Records["JobschedTest"]) {
  const { zone } = useZone();
  const instant = formatInstant(zone, token.expires_at === null ? null : instantOf(token.expires_at));
  const said = !token.set
    ? "tokenNone"
    : token.expired
      ? "tokenExpired"
      : token.expires_at === null
        ? "tokenOpen"
        : "tokenUntil";
  return (
    <>
      <Notice tone={ping.ok ? "good" : "bad"}>
        {ping.ok
          ? text("pingOk", { ms: formatMs(ping.latency_ms) })
          : text("pingBad", { error: ping.error ?? String(ping.status_code ?? "") })}
      </Notice>
      <Notice tone={token.expired ? "bad" : token.set ? "good" : "warn"}>{text(said, { instant })}</Notice>
    </>
  );
}

function Provisioner({
  provisioner_running,
  provisioner_last_seen_secs,
  last_outcome,
  last_error,
}: Records["Jobsched"]) {
  const ageMs = provisioner_last_seen_secs === null ? null : -provisioner_last_seen_secs * 1000;
  return (
    <Facts
      facts={[
        [text("provisioner"), text(provisioner_running ? "provisionerOn" : "provisionerOff")],
        [text("lastSeen"), formatAge(0, ageMs)],
        [text("lastOutcome"), [last_outcome ?? formatMs(null), last_error].filter(Boolean).join(": ")],
      ]}
    />
  );
}
