/** Acknowledging and muting of one alert (docs/rules/alerts.md#acknowledged-and-muted). */
import { lazy, Suspense } from "react";
import { api, type Records } from "../../data/api.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { endAfter, LENGTHS_MS } from "../../forms/until/ends.ts";
import { alertsTexts } from "../../messages/en/alerts.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { serverNowMs } from "../../time/server-time.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { Panel, Row } from "../../ui/layout.tsx";

const text = texts("alerts", alertsTexts);
// A part of its own: what two pages share would be in the first load.
const UntilChoice = lazy(async () => ({ default: (await import("../../forms/until/until-choice.tsx")).UntilChoice }));

type Change = Records["ChangeAlertMark"];

/** Writes what people say of an alert, with an undo. */
function useMark({
  key,
  acknowledged = false,
  muted_until,
}: Pick<Records["AlertDetail"], "key" | "muted_until"> & { readonly acknowledged?: boolean }) {
  const { zone } = useZone();
  const said = ({ acknowledged: isKnown, muted_until: until }: Change): string => {
    if (isKnown !== undefined) return text(isKnown ? "acknowledged" : "unacknowledged");
    if (until === null || until === undefined) return text("unmuted");
    return text("muted", { instant: formatInstant(zone, instantOf(until), "minute") });
  };
  return useAnnouncedWrite<Change>({
    send: async (body) => await api.PATCH("/api/v1/alerts/{key}", { params: { path: { key } }, body }),
    touches: ["/api/v1/alerts", "/api/v1/alerts/{key}", "/api/v1/overview/attention", "/api/v1/audit"],
    done: said,
    failed: () => text("markFailed"),
    inverse: (change) => {
      const variables = change.acknowledged === undefined ? { muted_until } : { acknowledged };
      return { variables, done: said(variables) };
    },
  });
}

/** In a list: mutes an alert for an hour. */
export function MuteHour({ alert }: { readonly alert: Records["FiringAlert"] }) {
  const write = useMark(alert);
  if (alert.muted_until !== null) return null;
  const until = (): string => endAfter(serverNowMs(), LENGTHS_MS["1h"]);
  return (
    <Button writes isBusy={write.isBusy} onClick={() => write.run({ muted_until: until() })}>
      {text("muteHour")}
    </Button>
  );
}

export function MarkActions({ alert }: { readonly alert: Records["AlertDetail"] }) {
  const { acknowledged, muted_until, firing_since } = alert;
  const write = useMark(alert);
  return (
    <Panel title={text("mute")} note={text("muteText")}>
      <Suspense fallback={null}>
        <UntilChoice
          lengths={["1h", "4h", "24h", "7d"]}
          isBusy={write.isBusy}
          lengthLabel={(length) => text("muteFor", { length })}
          untilLabel={text("muteUntilDo")}
          onChoose={(until) => write.run({ muted_until: until })}
        >
          {muted_until !== null && (
            <Button tone="primary" isBusy={write.isBusy} onClick={() => write.run({ muted_until: null })}>
              {text("unmute")}
            </Button>
          )}
        </UntilChoice>
      </Suspense>
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
