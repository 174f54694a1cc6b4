/** Search parameters of the page `settings`. */
import { choiceParam, LIST_PARAMS, listParams, searchParams } from "../../data/search-params.ts";

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

export const settingsSearch = searchParams({
  tab: choiceParam(SETTINGS_TABS),
  /** Of what was changed. */
  changes_columns: LIST_PARAMS.columns,
  /** Of what a restore would change: by kind, and object by object. */
  ...listParams("kinds_"),
  ...listParams("objects_"),
});
