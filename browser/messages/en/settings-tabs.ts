/** Names of the parts of the settings. */
export const settingsTabsTexts = {
  tabs: "Settings sections",
  alerts: "Alerts",
  routing: "Routing",
  boons: "Add-ons",
  energy: "Energy",
  jobsched: "Job scheduler",
  assistant: "Assistant",
  retention: "Retention",
  backup: "Backup",
  about: "About",
} as const;
