import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { changedSearch } from "../../data/search-params.ts";
import { alertsTabsTexts } from "../../messages/en/alerts-tabs.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { PageHead, Stack } from "../../ui/layout.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { ALERT_TABS, type ChangeSearch } from "./alerts-search.ts";

const text = texts("alerts-tabs", alertsTabsTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/alerts");
const AlertsPart = lazy(async () => ({ default: (await import("./alerts-part.tsx")).AlertsPart }));

/** What is wrong now, what was, and who gets it. */
export function AlertsPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/alerts" });
  const { tab = "active" } = search;
  const change: ChangeSearch = (changed) => void navigate({ search: (before) => changedSearch(before, changed) });
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
        tabs={ALERT_TABS.map((id) => ({
          id,
          label: text(id),
          content:
            id === tab ? (
              <Suspense fallback={null}>
                <AlertsPart search={search} onChange={change} />
              </Suspense>
            ) : null,
        }))}
      />
    </Stack>
  );
}
