import type { ComponentType } from "react";
import { AboutTab } from "./about-tab.tsx";
import { AlertsTab } from "./alerts-tab.tsx";
import { AssistantTab } from "./assistant-tab.tsx";
import { BackupTab } from "./backup-tab.tsx";
import { BoonsTab } from "./boons-tab.tsx";
import { EnergyTab } from "./energy-tab.tsx";
import { JobschedTab } from "./jobsched-tab.tsx";
import { RetentionTab } from "./retention-tab.tsx";
import { RoutingTab } from "./routing-tab.tsx";
import type { SettingsTab } from "./settings-search.ts";

const TABS: Readonly<Record<SettingsTab, ComponentType>> = {
  alerts: AlertsTab,
  routing: RoutingTab,
  boons: BoonsTab,
  energy: EnergyTab,
  jobsched: JobschedTab,
  assistant: AssistantTab,
  retention: RetentionTab,
  backup: BackupTab,
  about: AboutTab,
};

/** What a tab of the page shows. All of them are one file: apart, what they share would be in the first load. */
export function SettingsPart({ tab }: { readonly tab: SettingsTab }) {
  const Tab = TABS[tab];
  return <Tab />;
}
