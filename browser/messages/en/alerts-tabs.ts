/** Names of the parts of the page of alerts. */
export const alertsTabsTexts = {
  tabs: "Parts of alerts",
  active: "Active",
  history: "History",
  channels: "Channels",
} as const;
