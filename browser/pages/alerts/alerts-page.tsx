import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { changedSearch } from "../../data/search-params.ts";
import { alertsTexts } from "../../messages/en/alerts.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { Beside } from "../../ui/beside.tsx";
import { PageHead, Stack } from "../../ui/layout.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { ActiveTab } from "./active-tab.tsx";
import { AlertPanel } from "./alert-panel.tsx";
import { ALERT_TABS, type ChangeSearch } from "./alerts-search.ts";
import { ChannelsTab } from "./channels-tab.tsx";
import { AlertHistory } from "./history-tab.tsx";

const text = texts("alerts", alertsTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/alerts");

/** What is wrong now, what was, and who is told; one alert open beside the lists. */
export function AlertsPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/alerts" });
  const { tab = "active", key } = search;
  const change: ChangeSearch = (changed) => void navigate({ search: (before) => changedSearch(before, changed) });
  const onOpen = (opened: string): void => change({ key: opened });
  const beside = (list: "active" | "history") => (
    <Beside
      detail={key === undefined ? null : { title: text("panel"), content: <AlertPanel key={key} alertKey={key} /> }}
      label={text("panel")}
      closeLabel={text("close")}
      onClose={() => change({ key: undefined })}
    >
      {list === "active" ? (
        <ActiveTab openKey={key} onOpen={onOpen} />
      ) : (
        <AlertHistory search={search} onChange={change} onOpen={onOpen} />
      )}
    </Beside>
  );
  const contents = {
    active: () => beside("active"),
    history: () => beside("history"),
    channels: () => <ChannelsTab openId={search.channel} onOpen={(channel) => change({ channel })} />,
  };
  return (
    <Stack>
      <PageHead title={pageText("alerts")} question={pageText("alertsQuestion")} />
      <Tabs
        label={text("tabs")}
        chosen={tab}
        onChoose={(id) => {
          const chosen = ALERT_TABS.find((one) => one === id);
          void navigate({ search: (before) => changedSearch({}, { tab: chosen, key: before.key }) });
        }}
        tabs={ALERT_TABS.map((id) => ({ id, label: text(id), content: id === tab ? contents[id]() : null }))}
      />
    </Stack>
  );
}
