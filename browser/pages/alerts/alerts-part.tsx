import { alertsTexts } from "../../messages/en/alerts.ts";
import { texts } from "../../messages/texts.ts";
import { Beside } from "../../ui/beside.tsx";
import { ActiveTab } from "./active-tab.tsx";
import { AlertPanel } from "./alert-panel.tsx";
import type { AlertsSearch, ChangeSearch } from "./alerts-search.ts";
import { ChannelsTab } from "./channels-tab.tsx";
import { AlertHistory } from "./history-tab.tsx";

const text = texts("alerts", alertsTexts);

interface AlertsPartProps {
  readonly search: AlertsSearch;
  readonly onChange: ChangeSearch;
}

/** What a tab of the page shows; one alert open beside the lists. All of them are one file, as in the settings. */
export function AlertsPart({ search, onChange }: AlertsPartProps) {
  const { tab = "active", key, channel } = search;
  const onOpen = (opened: string): void => onChange({ key: opened });
  if (tab === "channels") return <ChannelsTab openId={channel} onOpen={(id) => onChange({ channel: id })} />;
  return (
    <Beside
      detail={key === undefined ? null : { title: text("panel"), content: <AlertPanel key={key} alertKey={key} /> }}
      label={text("panel")}
      onClose={() => onChange({ key: undefined })}
    >
      {tab === "active" ? (
        <ActiveTab openKey={key} onOpen={onOpen} />
      ) : (
        <AlertHistory search={search} onChange={onChange} onOpen={onOpen} />
      )}
    </Beside>
  );
}
