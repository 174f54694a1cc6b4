/** Acknowledging and muting of one alert (docs/rules/alerts.md#acknowledged-and-muted). */
import { useState } from "react";
import { api, type Records } from "../../data/api.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { alertsTexts } from "../../messages/en/alerts.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { instantAt } from "../../time/local-instants.ts";
import { serverNowMs } from "../../time/server-time.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Panel, Row } from "../../ui/layout.tsx";
import { MUTE_LENGTHS, muteEnd, typedMuteEnd } from "./mute-times.ts";

const text = texts("alerts", alertsTexts);

type Change = Records["ChangeAlertMark"];

export function MarkActions({ alert }: { readonly alert: Records["AlertDetail"] }) {
  const { key, acknowledged, muted_until, firing_since } = alert;
  const { zone } = useZone();
  const said = ({ acknowledged: isKnown, muted_until: until }: Change): string => {
    if (isKnown !== undefined) return text(isKnown ? "acknowledged" : "unacknowledged");
    if (until === null || until === undefined) return text("unmuted");
    return text("muted", { instant: formatInstant(zone, instantOf(until), "minute") });
  };
  const write = useAnnouncedWrite<Change>({
    send: async (body) => await api.PATCH("/api/v1/alerts/{key}", { params: { path: { key } }, body }),
    touches: ["/api/v1/alerts", "/api/v1/alerts/{key}", "/api/v1/overview/attention", "/api/v1/audit"],
    done: said,
    failed: () => text("markFailed"),
    inverse: (change) => {
      const variables = change.acknowledged === undefined ? { muted_until } : { acknowledged };
      return { variables, done: said(variables) };
    },
  });
  return (
    <Panel title={text("mute")} note={text("muteText")}>
      <Row>
        {MUTE_LENGTHS.map(({ id, ms }) => (
          <Button
            key={id}
            isBusy={write.isBusy}
            aria-label={text("muteFor", { length: text(`mute_${id}`) })}
            onClick={() => write.run({ muted_until: muteEnd(serverNowMs(), ms) })}
          >
            {text(`mute_${id}`)}
          </Button>
        ))}
        {muted_until !== null && (
          <Button tone="primary" isBusy={write.isBusy} onClick={() => write.run({ muted_until: null })}>
            {text("unmute")}
          </Button>
        )}
      </Row>
      <MuteUntil isBusy={write.isBusy} onMute={(until) => write.run({ muted_until: until })} />
      {(firing_since !== null || acknowledged) && (
        <Row>
          <Button isBusy={write.isBusy} onClick={() => write.run({ acknowledged: !acknowledged })}>
            {text(acknowledged ? "unacknowledge" : "acknowledge")}
          </Button>
          <span>{text("acknowledgeText")}</span>
        </Row>
      )}
    </Panel>
  );
}

function MuteUntil({ isBusy, onMute }: { readonly isBusy: boolean; readonly onMute: (until: string) => void }) {
  const { zone } = useZone();
  const [typed, setTyped] = useState("");
  const [isWrong, setWrong] = useState(false);
  const mute = (): void => {
    const until = typedMuteEnd(instantAt(zone, typed), serverNowMs());
    setWrong(until === null);
    if (until !== null) onMute(until);
  };
  return (
    <Row>
      <TextField
        label={text("muteUntil")}
        hint={zone}
        type="datetime-local"
        value={typed}
        error={isWrong ? text("muteUntilWrong") : undefined}
        onChange={(event) => {
          setTyped(event.target.value);
          setWrong(false);
        }}
      />
      {typed !== "" && (
        <Button isBusy={isBusy} onClick={mute}>
          {text("muteUntilDo")}
        </Button>
      )}
    </Row>
  );
}
