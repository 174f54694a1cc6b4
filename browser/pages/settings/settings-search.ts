/** Search parameters of the page `settings`. */
import { choiceParam, searchParams } from "../../data/search-params.ts";

/** The parts of the page, in their order. */
export const SETTINGS_TABS = [
  "alerts",
  "routing",
  "boons",
  "energy",
  "jobsched",
  "assistant",
  "retention",
  "backup",
  "about",
] as const;

export type SettingsTab = (typeof SETTINGS_TABS)[number];

export const settingsSearch = searchParams({ tab: choiceParam(SETTINGS_TABS) });
