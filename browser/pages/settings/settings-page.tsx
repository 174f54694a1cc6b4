import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { changedSearch } from "../../data/search-params.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { settingsTabsTexts } from "../../messages/en/settings-tabs.ts";
import { texts } from "../../messages/texts.ts";
import { PageHead, Stack } from "../../ui/layout.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { SETTINGS_TABS } from "./settings-search.ts";

const text = texts("settings-tabs", settingsTabsTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/settings");

/** Loaded when the page is open: it brings the schemas that validate what is typed. */
const SettingsPart = lazy(async () => ({ default: (await import("./settings-part.tsx")).SettingsPart }));

/** What holds for the whole gateway, each part with a test of it. */
export function SettingsPage() {
  const { tab = "alerts" } = route.useSearch();
  const navigate = useNavigate({ from: "/settings" });
  return (
    <Stack>
      <PageHead title={pageText("settings")} question={pageText("settingsQuestion")} />
      <Tabs
        label={text("tabs")}
        chosen={tab}
        onChoose={(id) =>
          void navigate({
            search: (before) => changedSearch(before, { tab: SETTINGS_TABS.find((one) => one === id) }),
          })
        }
        tabs={SETTINGS_TABS.map((id) => ({
          id,
          label: text(id),
          content:
            id === tab ? (
              <Suspense fallback={null}>
                <SettingsPart tab={tab} />
              </Suspense>
            ) : null,
        }))}
      />
    </Stack>
  );
}
