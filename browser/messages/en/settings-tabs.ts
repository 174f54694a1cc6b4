/** Names of the parts of the settings. */
export const settingsTabsTexts = {
  tabs: "Parts of the settings",
  alerts: "Alerts",
  routing: "Routing",
  boons: "Boons",
  energy: "Energy",
  jobsched: "Job scheduler",
  assistant: "Assistant",
  retention: "Retention",
  backup: "Backup",
  about: "About",
} as const;
